# C types of hot_trees.py, for the compiler alone.

cdef extern from "hot_trees.h":
    struct trees:
        Py_ssize_t used
    int begin_trees(trees *trees, bytes data) except -1
    bytes settle_trees(trees *trees, bytes data, Py_ssize_t start, Py_ssize_t end, list others)
    int settle_tree(trees *trees, unsigned long long root, unsigned long long value)
    bint end_tree(trees *trees, unsigned long long root)
    list listed_trees(trees *trees)
    void free_trees(trees *trees)


cdef class TreeTable:
    cdef trees _trees


cdef class OpenTrees:
    cdef public TreeTable newest
    cdef public object done
    cpdef object settle(self, bytes data, Py_ssize_t start, Py_ssize_t end)
