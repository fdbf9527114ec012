# C types of hot_path.py, for the compiler alone.

cdef extern from "hot_path.h":
    object made_tuple(
        object kind, object key, object component, object stream, object task, object values,
        object created, object roots)
    struct run:
        unsigned long long root, value, first_key
        Py_ssize_t tuples, settled
        bint is_whole
    object item_of_roots(object tup)


cdef extern from "hot_buffers.h":
    bint is_first(object object, void *field)


cdef class SharedAnchorState(list):
    cdef public Py_ssize_t left
    cdef public object settled
    cdef public bint has_failed
    cdef public unsigned long long first_key
    cdef public Py_ssize_t in_order
    cpdef bint first_settle(self, object key)
    cpdef bint has_settled(self, object key)


cdef class RunState:
    cdef run _run  # the first field: hot_path.h
    cdef object _whole


cdef class WholeRoots:
    pass


cdef object begin_run(
    RunState state, unsigned long long root, unsigned long long value, unsigned long long first_key,
    Py_ssize_t tuples)
