# C types of hot_trees.py, for the compiler alone.

from heron_core.hot_buffers_compiled cimport BufferRoom

cdef extern from "hot_buffers.h":
    bint is_first(object object, void *field)


cdef extern from "hot_trees.h":
    struct trees:
        Py_ssize_t used
    int begin_trees(trees *trees, bytes data) except -1
    bytes settle_trees(trees *trees, bytes data, Py_ssize_t start, Py_ssize_t end, list others)
    int settle_tree(trees *trees, unsigned long long root, unsigned long long value)
    bint end_tree(trees *trees, unsigned long long root)
    list listed_trees(trees *trees)
    void free_trees(trees *trees)


cdef extern from "hot_pending.h":
    struct pending:
        trees ids
        bint was_timed
    void know_pending(object type)
    int put_id(pending *pending, unsigned long long root, object tup_id) except -1
    object take_id(pending *pending, unsigned long long root, object missing)
    object known_id(pending *pending, unsigned long long root, object missing)
    void time_id(pending *pending, unsigned long long root)
    unsigned long long newest_id(pending *pending)
    list listed_roots(pending *pending)
    void end_pending(pending *pending)
    unsigned long long number_in(bytes data, Py_ssize_t at)


cdef Py_ssize_t NUMBER_BYTES


cdef class TreeTable:
    cdef trees _trees


cdef class PendingIds:
    cdef pending _pending  # the first field: hot_emit.h


cdef class OpenTrees:
    cdef public TreeTable newest
    cdef public object done
    cpdef object settle(self, bytes data, Py_ssize_t start, Py_ssize_t end)


cdef Py_ssize_t settle_taken(
    PendingIds pending, bytes data, object complete, object ack, object raised) except -1
cpdef Py_ssize_t next_tuples(
    object driver, BufferRoom outbox, object next_tuple, Py_ssize_t most) except? -1
