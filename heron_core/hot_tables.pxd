# C types of hot_tables.py, for the compiler alone.

cimport cython

cdef extern from "hot_tables.h":
    bint cannot_change(object value)

cdef object ABSENT


cdef class MemoryTable:
    cdef readonly object id
    cdef readonly object codec
    cdef readonly dict entries
    cdef public dict changed
    cdef readonly set kinds

    cdef object _check(self, object key, object value)


@cython.final
cdef class FlatTable(MemoryTable):
    cdef public set mutable

    cpdef object get(self, object key, object sub=*)
    cpdef object put(self, object key, object value, object sub=*)


@cython.final
cdef class NestedTable(MemoryTable):
    cdef public Py_ssize_t size

    cpdef object get(self, object key, object sub=*)
    cpdef object put(self, object key, object value, object sub=*)
    cpdef object append(self, object key, object value)
    cpdef object remove_all(self, object key)
    cpdef list values(self, object key)
    cdef object _put(self, object key, object value, object sub, dict entries)
    cdef object _forget_if_many(self)
    cdef object _note(self, object key, dict entries)
