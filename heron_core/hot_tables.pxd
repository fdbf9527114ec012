# C types of hot_tables.py, for the compiler alone.

cimport cython

cdef extern from "hot_tables.h":
    bint cannot_change(object value)
    bint is_value_of(object cell, object value)
    object packed_changes(list keys, list cells, object absent)
    object packed_entries(dict entries, object absent)

cdef object ABSENT


cdef class MemoryTable:
    cdef readonly object id
    cdef readonly object codec
    cdef readonly dict entries
    cdef readonly set kinds

    cdef object _check(self, object key, object value)


@cython.final
cdef class Cell:
    cdef public object value
    cdef public Py_ssize_t noted_in


@cython.final
cdef class FlatTable(MemoryTable):
    cdef Py_ssize_t _epoch
    cdef list _noted_keys
    cdef list _noted
    cdef dict _gone
    cdef set _mutable
    cdef object _last_key
    cdef Cell _last

    cpdef object get(self, object key, object sub=*)
    cpdef object put(self, object key, object value, object sub=*)
    cdef object _note(self, object key, Cell cell)
    cdef object _forget_noted(self)


@cython.final
cdef class NestedTable(MemoryTable):
    cdef public Py_ssize_t size
    cdef public dict changed
    cdef Py_ssize_t _changes
    cdef object _changed_key
    cdef dict _changed_last
    cdef object _last_key
    cdef dict _last

    cpdef object get(self, object key, object sub=*)
    cpdef object put(self, object key, object value, object sub=*)
    cpdef object append(self, object key, object value)
    cpdef object remove_all(self, object key)
    cpdef list values(self, object key)
    cdef dict _entries_of(self, object key)
    cdef object _note_from(self, dict changed)
    cdef object _change(self, object key, object sub, object value)
    cdef object _put(self, object key, object value, object sub, dict entries)
    cdef object _forget_if_many(self)
    cdef object _note(self, object key, dict entries)


@cython.final
cdef class TimedTable:
    cdef object _entries
    cdef object _deadlines
    cdef double _secs
    cdef bint _refreshes_on_read
    cdef object _clock
    cdef object _to_examine

    cpdef object get(self, object key, object sub=*)
    cpdef object put(self, object key, object value, object sub=*)
    cpdef object remove(self, object key, object sub=*)
    cdef object _prolong(self, object key, object sub, double now)
    cdef bint _is_expired(self, object key, object sub, double now) except -1
    cdef bint _has_any(self, object key) except -1
    cdef object _examine(self, double now)
