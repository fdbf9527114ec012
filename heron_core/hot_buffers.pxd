# C types of hot_buffers.py, for the compiler alone.

cdef extern from "hot_buffers.h":
    bytes packed_plain(object values, object pack)
    struct contents:
        Py_ssize_t tuples, pairs
        bint has_extras, is_mixed
    bint is_first(object object, void *field)
    void know_buffers(object type)
    void know_edges(object type)
    struct drawn:
        pass
    void begin_drawn(drawn *drawn, object draw)
    object drawn_number(drawn *drawn)
    void end_drawn(drawn *drawn)
    object put_packed(
        list buffers, bytes data, object root, int stream, bint tracked, bint shares_edges,
        object next_edge)
    struct numbers:
        Py_ssize_t used
    int put_pair(numbers *to, unsigned long long root, unsigned long long value) except -1
    int put_numbers(numbers *to, list items) except -1
    list listed_numbers(numbers *numbers)
    bytes packed_numbers(numbers *numbers)
    unsigned long long common_owner(numbers *pairs, int counter_bits)
    void empty_numbers(numbers *numbers)
    void free_numbers(numbers *numbers)
    void begin_packed(contents *contents, Py_ssize_t targets)
    void end_run(contents *contents)
    void empty_packed(contents *contents)
    void free_packed(contents *contents)
    bytes packed_body(contents *contents)
    bytes packed_ids(contents *contents)
    bytes packed_sizes(contents *contents)
    bytes packed_streams(contents *contents)
    list packed_repeats(contents *contents)
    bytes packed_header(
        unsigned int first, unsigned short stream, unsigned int epoch, unsigned int source,
        unsigned int destination, unsigned int items)


cdef Py_ssize_t DATA, BEGINS, TRACKED, RUNS, OF_A_BATCH, FLAGS_SHIFT


cdef class TupleBuffer:
    cdef contents _contents  # the first field: hot_buffers.h
    cdef public list extras
    cdef public list conflicting
    cdef public tuple targets
    cdef public object destination
    cdef public object stream
    cdef public list emits


cdef class AckPairs:
    cdef numbers _numbers  # the first field, as a buffer's


cdef class EdgeNumbers:
    cdef drawn _drawn  # the first field, as a buffer's


cdef class BufferRoom:
    cdef public Py_ssize_t room  # the first field: hot_emit.h
    cdef public bint tracked
    cdef public list acked
    cdef public AckPairs pairs
    cdef public Py_ssize_t acks_counted
    cdef public Py_ssize_t flushes
    cdef public Py_ssize_t late
    cdef public object foreign


cpdef object put_tuple(
    list buffers, bytes data, object root, int index, bint tracked, bint shares_edges,
    object next_edge)
cdef bint are_free(list buffers)
cdef Py_ssize_t tuples_in(TupleBuffer buffer)
cdef bint is_simple(TupleBuffer buffer)
cdef bint has_shared_edges(TupleBuffer buffer)
cdef list taken_batch(
    TupleBuffer buffer, object epoch, object source, bint tracked, bint begins)
