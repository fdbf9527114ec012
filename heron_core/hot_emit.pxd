# C types of hot_emit.py, for the compiler alone.

from heron_core.hot_buffers_compiled cimport BufferRoom, EdgeNumbers, TupleBuffer, are_free, put_tuple
from heron_core.hot_path_compiled cimport RunState
from heron_core.hot_trees_compiled cimport PendingIds

cdef extern from "hot_emit.h":
    void know_buffers(object type)
    void know_edges(object type)
    void know_pending(object type)
    void know_runs(object type)
    Py_ssize_t plain_slot(object key, bint are_several, Py_ssize_t slots)
    object new_emit(
        tuple objects, Py_ssize_t width, Py_ssize_t most, Py_ssize_t overhead, int stream,
        bint tracked, bint is_spout, bint packs_plain, bint wants_direct,
        bint asks_python)
    object new_anchored(object emit, list current, object unnamed)


cdef class PlainKeys:
    cdef object keyed
    cdef list buffers
    cdef bint are_several
    cdef object sent


