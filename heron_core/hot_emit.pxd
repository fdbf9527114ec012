# C types of hot_emit.py, for the compiler alone.

cdef extern from "hot_emit.h":
    Py_ssize_t plain_slot(object key, bint are_several, Py_ssize_t slots)
    bytes packed_plain(object values, object pack)


cdef class TupleBuffer:
    cdef public list parts
    cdef public list ids
    cdef public object run
    cdef public list starts
    cdef public list extras
    cdef public list blocks
    cdef public list conflicting
    cdef public object streams
    cdef public tuple targets
    cdef public object destination


cdef class BufferRoom:
    cdef public Py_ssize_t room
    cdef public bint tracked
    cdef public list acked
    cdef public list pairs
    cdef public Py_ssize_t acks_counted
    cdef public Py_ssize_t late
    cdef public object foreign


cdef class PlainKeys:
    cdef object keyed
    cdef list buffers
    cdef bint are_several


cpdef object put_tuple(
    list buffers, bytes data, object root, object index, bint tracked, bint shares_edges,
    object next_edge)
cdef list chosen_buffers(list choosers, object tup)
cdef bint are_free(list buffers)
