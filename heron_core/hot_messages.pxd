# C types of hot_messages.py, for the compiler alone.

from heron_core.hot_trees_compiled cimport OpenTrees

cdef extern from "hot_messages.h":
    Py_ssize_t message_bytes(list[bytes] frames) except -1
    Py_ssize_t message_items(list[bytes] frames) except -1
    Py_ssize_t number_at(list[bytes] frames, Py_ssize_t at, Py_ssize_t size) except -1
    int has_prefix(list[bytes] frames, Py_ssize_t prefix) except -1
    Py_ssize_t owner_at(bytes data, Py_ssize_t at)
    Py_ssize_t end_of_run(bytes data, Py_ssize_t at)
    object split_data(bytes data, Py_ssize_t messages)
    object joined_data(list messages)
    void keep_freed_memory()
    object blank_frame(Py_ssize_t size)
    Py_ssize_t next_limit(Py_ssize_t size, double worth, double mark)


cdef Py_ssize_t HEADER_BYTES, PREFIX, LENGTH_BYTES, SIZE_BYTES, STREAM_BYTES, PAIR_BYTES, UNLIMITED
cdef Py_ssize_t COUNTER_BITS, SEVERAL
cdef Py_ssize_t DATA, ACK, BARRIER, TRACKED, MIXED, MULTI_ROOT, BEGINS, RUNS, TRACKED_RUNS, ALL_OF_A_BATCH


cdef class MessageQueue:
    cdef public object messages
    cdef public set touched
    cdef public set due
    cdef public object name
    cdef public bint is_tagged
    cdef public bint is_watched
    cdef public Py_ssize_t size
    cdef public Py_ssize_t items
    cdef public Py_ssize_t fresh
    cdef public Py_ssize_t bytes_limit
    cdef public Py_ssize_t items_limit


cdef class Heading:
    cdef public Py_ssize_t kind
    cdef public Py_ssize_t flags
    cdef public Py_ssize_t consumed
    cdef public Py_ssize_t epoch
    cdef public Py_ssize_t source
    cdef public Py_ssize_t destination
    cdef public Py_ssize_t items


cdef class Forwarder:
    cdef public Heading head
    cdef public dict ways
    cdef public dict spouts
    cdef public set settled
    cdef public set gated
    cdef public bint is_behind_barrier
    cdef public dict sent
    cdef public Py_ssize_t fence
    cdef public Py_ssize_t forwarded
    cdef public Py_ssize_t tuples
    cdef public object strays


cdef bint are_runs(Heading head, list[bytes] frames)
cdef bint is_batch(Heading head, list[bytes] frames)
cdef bint read_heading(Heading head, list[bytes] frames)
cdef bint is_plain(Forwarder forwarder, list[bytes] frames)
cdef object put_into(MessageQueue queue, object destination, list[bytes] frames)
cdef object put_plain(Forwarder forwarder, list[bytes] frames)
cdef object settle(
    Forwarder forwarder, Py_ssize_t owner, bytes data, Py_ssize_t start, Py_ssize_t end)
cdef object settle_by_owner(Forwarder forwarder, list[bytes] frames)
