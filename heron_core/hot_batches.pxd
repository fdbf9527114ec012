# C types of hot_batches.py, for the compiler alone.

from heron_core.hot_messages_compiled cimport (
    DATA, MIXED, MULTI_ROOT, RUNS, Heading, are_runs, is_batch, number_at, read_heading)

cdef extern from "hot_batches.h":
    bint sizes_add_up(bytes sizes, Py_ssize_t items)
