# C types of hot_path.py, for the compiler alone.

cdef extern from "hot_path.h":
    bytes packed_plain(object values, object pack)
    object made_tuple(
        object kind, object key, object component, object stream, object task, object values,
        object created, object roots)


cdef class TupleBuffer:
    cdef public list parts
    cdef public list ids
    cdef public object run
    cdef public list starts
    cdef public list extras


cdef class BufferRoom:
    cdef public Py_ssize_t room


cdef class SharedAnchorState(list):
    cdef public Py_ssize_t left
    cdef public object settled
    cdef public bint has_failed
