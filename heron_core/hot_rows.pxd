# C types of hot_rows.py, for the compiler alone.

from heron_core.hot_buffers_compiled cimport AckPairs, BufferRoom, numbers, put_pair
from heron_core.hot_path_compiled cimport RunState, SharedAnchorState, begin_run, run

cdef extern from "hot_rows.h":
    Py_ssize_t first_plain_row(bytes body, Py_ssize_t rows)
    struct turn:
        pass
    object next_tuple(
        turn *last, bint is_plain, object kind, unsigned long long key, object component,
        object stream, object task, object created, object roots, bytes body, Py_ssize_t *at,
        object values_kind)
    bint is_plain_class "is_plain"(object kind)
    void know_runs(object type)
    bint is_unused(list items, Py_ssize_t at)
    struct current:
        pass
    int make_current(current *current, object user, object tup) except -1
    void end_current(current *current)
    int acks_by_itself(current *current, object user) except -1
    int call_ack(object ack, object tup) except -1
    bint is_next(run *run, object key)
    int settle_next(run *run, numbers *pairs) except -1
    int settle_newest(
        list acked, turn *turn, object state, Py_ssize_t position, numbers *pairs) except -1
    object newest(turn *last)
    object end_turn(turn *last)
    object roots_of(object tup)
    object key_of(object tup)
    bint is_number(object key, unsigned long long number)
    unsigned long long id_at(bytes numbers, Py_ssize_t index)
    unsigned int size_at(bytes sizes, Py_ssize_t index)
    void drop_first(list items, Py_ssize_t number)


cdef Py_ssize_t STATES_KEPT


cdef class RowKeys:
    cdef unsigned long long _next


cdef class RowCursor:
    cdef object _kind, _values_kind, _component, _stream, _task, _created, _clock, _rows
    cdef RowKeys _keys
    cdef RunState _anchor_state
    cdef list _states
    cdef bint _is_plain_class
    cdef unsigned long long _key
    cdef bytes _body, _ids, _sizes
    cdef BufferRoom _outbox
    cdef list _further
    cdef Py_ssize_t _at, _run, _runs, _left_in_run, _few, _stops_at
    cdef double _due
    cdef turn _turn
    cdef public bint is_plain
    cdef public double few_began_at
    cdef public Py_ssize_t items
    cdef public Py_ssize_t left
    cdef public Py_ssize_t left_in_message
    cdef public Py_ssize_t messages_begun
    cdef bint _must_stop(self) except -1
    cpdef bint then(
        self, object component, object stream, object task, bytes body, Py_ssize_t rows, object ids,
        object sizes, object values_kind=*) except -1
    cdef bint _begin_message(self) except -1
    cdef bint _begin_run(self) except -1
    cdef RunState _spare_state(self)
    cdef bint _fold(self) except -1


cdef class CurrentTuples:
    cdef object _source, _user, _ack, _forget, _tuple
    cdef dict _named
    cdef current _current
    cdef bint _settle(self) except -1
    cdef bint _acks_by_itself(self) except -1


cdef unsigned long long take_keys(RowKeys keys, Py_ssize_t number)
cpdef object fold_done(BufferRoom outbox)
cdef object state_to_settle(BufferRoom outbox, object tup)
cdef object add_pair(AckPairs pairs, list state)
