# C types of hot_path.py, for the compiler alone.

cdef extern from "hot_path.h":
    object made_tuple(
        object kind, object key, object component, object stream, object task, object values,
        object created, object roots)


cdef class SharedAnchorState(list):
    cdef public Py_ssize_t left
    cdef public object settled
    cdef public bint has_failed
    cdef public unsigned long long first_key
    cdef public Py_ssize_t in_order
    cpdef bint first_settle(self, object key)
    cpdef bint has_settled(self, object key)
