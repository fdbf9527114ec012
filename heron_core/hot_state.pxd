# C types of hot_state.py, for the compiler alone.

cimport cython

from heron_core.hot_tables_compiled cimport FlatTable, NestedTable

cdef extern from "hot_tables.h":
    bint cannot_change(object value)

cdef extern from "hot_state.h":
    object item_at(object tuple, Py_ssize_t at)

cdef object ABSENT
cdef Py_ssize_t _COMPONENT_AT
cdef Py_ssize_t _STREAM_AT
cdef Py_ssize_t _VALUES_AT
cdef Py_ssize_t _SEVERAL

cdef object _joint(list values)


@cython.final
cdef class TupleKeys:
    cdef object _component
    cdef object _stream
    cdef object _positions
    cdef object _positions_of
    cdef Py_ssize_t _position
    cdef object _kind
    cdef bint _is_laid_out

    cpdef object of(self, object tup)
    cdef object _in(self, object tup, object component, object stream, object values)


cdef class TupleKey:
    cdef public object component
    cdef public object tuple
    cdef public object _seen
    cdef public object _key
    cdef public TupleKeys _keys

    cdef object key(self)


cdef class KeyedState:
    cdef readonly object _table
    cdef readonly TupleKey _current
    cdef object _default
    cdef object _reduce
    cdef object _check
    cdef FlatTable _flat
    cdef NestedTable _nested


cdef class ValueOfKey(KeyedState):
    cdef object _value(self, object key)
    cdef object _set(self, object key, object value)


cdef class ReducedOfKey(ValueOfKey):
    pass


cdef class ListOfKey(KeyedState):
    pass


cdef class MapOfKey(KeyedState):
    cdef object _value(self, object key)
