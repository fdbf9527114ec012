# C types of hot_rows.py, for the compiler alone.

from heron_core.hot_buffers_compiled cimport BufferRoom
from heron_core.hot_path_compiled cimport SharedAnchorState

cdef extern from "hot_rows.h":
    Py_ssize_t first_plain_row(bytes body, Py_ssize_t rows)
    struct turn:
        pass
    object next_tuple(
        turn *last, object kind, object key, object component, object stream, object task,
        object created, object roots, bytes body, Py_ssize_t *at)
    object newest(turn *last)
    object end_turn(turn *last)
    object roots_of(object tup)
    object key_of(object tup)
    bint is_number(object key, unsigned long long number)
    unsigned long long number_at(bytes numbers, Py_ssize_t index)
    unsigned int size_at(bytes sizes, Py_ssize_t index)
    void drop_first(list items, Py_ssize_t number)


cdef class RowCursor:
    cdef object _kind, _component, _stream, _task, _created, _keys, _clock, _anchor_state, _rows
    cdef bytes _body, _ids, _sizes
    cdef BufferRoom _outbox
    cdef Py_ssize_t _at, _run, _left_in_run, _few, _stops_at
    cdef double _due
    cdef turn _turn
    cdef public bint is_plain
    cdef public double few_began_at
    cdef public Py_ssize_t items
    cdef public Py_ssize_t left
    cdef bint _must_stop(self) except -1
    cdef object _next_key(self)
    cdef object _begin_run(self)


cpdef object fold_done(BufferRoom outbox)
cdef object add_pair(list pairs, list state)
