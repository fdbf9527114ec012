# C types of hot_batches.py, for the compiler alone.

from heron_core.hot_messages_compiled cimport (
    DATA, MIXED, MULTI_ROOT, RUNS, Heading, are_runs, is_batch, message_bytes, number_at,
    read_heading)
from heron_core.hot_rows_compiled cimport RowCursor

cdef extern from "hot_batches.h":
    bint sizes_add_up(bytes sizes, Py_ssize_t items)


cpdef bint is_plain_batch(Heading head, list frames, Py_ssize_t epoch)
