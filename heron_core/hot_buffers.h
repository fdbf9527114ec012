/* The functions of hot_buffers.py that are C when it is compiled. */

#ifndef HOT_BUFFERS_H
#define HOT_BUFFERS_H

#include <Python.h>
#include <stdint.h>
#include <string.h>

#include "hot_values.h"

enum {
    IDLE_BYTES_MAX = 1 << 16, /* that an empty buffer may keep, of which it used less than a quarter */
};

/* --- tuples on their way to one destination -------------------------------------------------------

   Their rows as they are sent, and numbers: of each pair of root and edge, and of each tuple. A tuple
   is added as a whole or not at all, and in one go: no Python code runs in the middle of it. */

struct contents {
    unsigned char *rows;
    uint64_t *ids;      /* root, edge of each pair, for each target in turn */
    uint32_t *starts;   /* the position of each pair's first tuple */
    uint16_t *streams;  /* of each tuple, in a mixed buffer */
    uint32_t *repeats;  /* positions of tuples that another buffer has as well, and counts */
    Py_ssize_t tuples, pairs, bytes, repeated;
    Py_ssize_t row_room, id_room, start_room, stream_room, repeat_room;
    uint64_t run; /* the root whose tuples may go on sharing the last edge, */
    int has_run;  /* if there is one */
    Py_ssize_t targets;
    int is_fanout, is_mixed;
    int has_extras; /* one of its tuples has several roots: no others share edges */
};

/* Where TupleBuffer has it; `is_first` is what holds that. */
#define CONTENTS(buffer) ((struct contents *)((char *)(buffer) + sizeof(PyObject)))

static int is_first(PyObject *object, void *field) {
    return (char *)field == (char *)object + sizeof(PyObject);
}

static int room_for(void **items, Py_ssize_t *room, Py_ssize_t wanted, size_t item_bytes) {
    if (wanted <= *room)
        return 0;
    Py_ssize_t larger = *room * 2 > wanted ? *room * 2 : wanted * 2;
    void *moved = PyMem_RawRealloc(*items, (size_t)larger * item_bytes);
    if (moved == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    *items = moved;
    *room = larger;
    return 0;
}

#define ROOM_FOR(contents, items, room, wanted) \
    room_for((void **)&(contents)->items, &(contents)->room, wanted, sizeof *(contents)->items)

/* A tuple to add: its row, the pair that begins with it, and more. */
struct addition {
    const void *row;
    Py_ssize_t bytes;
    Py_ssize_t targets; /* so many edges begin with it; 0 if it shares the last one, or none is kept */
    uint64_t root;
    const uint64_t *edges;
    int begins_run;     /* what follows of the same root shares its edge */
    int stream;         /* -1 in a buffer that is not mixed */
    int is_repeat;
};

/* Add a tuple; -1 with MemoryError. */
static int add_tuple(struct contents *to, const struct addition *tuple) {
    Py_ssize_t ids = 2 * tuple->targets * (to->pairs + 1);
    if (ROOM_FOR(to, rows, row_room, to->bytes + tuple->bytes) < 0
        || ROOM_FOR(to, ids, id_room, ids) < 0
        || ROOM_FOR(to, starts, start_room, to->pairs + 1) < 0
        || (tuple->stream >= 0 && ROOM_FOR(to, streams, stream_room, to->tuples + 1) < 0)
        || (tuple->is_repeat && ROOM_FOR(to, repeats, repeat_room, to->repeated + 1) < 0))
        return -1;
    memcpy(to->rows + to->bytes, tuple->row, (size_t)tuple->bytes);
    to->bytes += tuple->bytes;
    if (tuple->targets) {
        uint64_t *id = to->ids + 2 * tuple->targets * to->pairs;
        for (Py_ssize_t at = 0; at < tuple->targets; at++) {
            *id++ = tuple->root;
            *id++ = tuple->edges[at];
        }
        to->starts[to->pairs++] = (uint32_t)to->tuples;
        to->run = tuple->root;
        to->has_run = tuple->begins_run;
    }
    if (tuple->stream >= 0)
        to->streams[to->tuples] = (uint16_t)tuple->stream;
    if (tuple->is_repeat)
        to->repeats[to->repeated++] = (uint32_t)to->tuples;
    to->tuples++;
    return 0;
}

/* A root or an edge; -1 with an exception for what is no number of 64 bits. */
static int number_of(PyObject *number, uint64_t *value) {
    if (!PyLong_Check(number)) {
        PyErr_SetString(PyExc_TypeError, "a root or an edge that is not a number");
        return -1;
    }
    *value = PyLong_AsUnsignedLongLong(number);
    return *value == (uint64_t)-1 && PyErr_Occurred() ? -1 : 0;
}

/* Whether a tuple of this root shares the edge of the one before it. */
static int goes_on(const struct contents *contents, uint64_t root) {
    return contents->has_run && contents->run == root;
}

/* What TupleBuffer is, once the module that has it is loaded. */
static PyTypeObject *buffer_type;

static void know_buffers(PyObject *type) {
    buffer_type = (PyTypeObject *)type;
}

/* An instance has one class of buffers, whose base classes are looked through once. */
static int is_buffer(PyObject *object) {
    static PyTypeObject *known;
    PyTypeObject *type = Py_TYPE(object);
    if (type == known)
        return 1;
    if (!PyType_IsSubtype(type, buffer_type))
        return 0;
    Py_XSETREF(known, (PyTypeObject *)Py_NewRef((PyObject *)type));
    return 1;
}

/* --- edges: numbers of 64 bits out of the bytes that a function returns ------------------------- */

struct drawn {
    PyObject *draw;  /* called without arguments for more bytes */
    PyObject *bytes; /* of which those before `at` are used; NULL before the first */
    Py_ssize_t at;
};

/* Where EdgeNumbers has it; `is_first` is what holds that. */
#define DRAWN(edges) ((struct drawn *)((char *)(edges) + sizeof(PyObject)))

static void begin_drawn(struct drawn *drawn, PyObject *draw) {
    Py_XSETREF(drawn->draw, Py_NewRef(draw));
}

static void end_drawn(struct drawn *drawn) {
    Py_CLEAR(drawn->draw);
    Py_CLEAR(drawn->bytes);
}

/* -1 with an exception. Other threads may draw meanwhile: the newest bytes are used. */
static int draw_more(struct drawn *drawn) {
    PyObject *bytes = PyObject_CallNoArgs(drawn->draw);
    if (bytes == NULL)
        return -1;
    if (!PyBytes_CheckExact(bytes) || PyBytes_GET_SIZE(bytes) < (Py_ssize_t)sizeof(uint64_t)) {
        PyErr_SetString(PyExc_TypeError, "edges are drawn from bytes, at least eight at a time");
        Py_DECREF(bytes);
        return -1;
    }
    Py_XSETREF(drawn->bytes, bytes);
    drawn->at = 0;
    return 0;
}

static int next_drawn(struct drawn *drawn, uint64_t *number) {
    Py_ssize_t end = drawn->bytes == NULL ? 0 : PyBytes_GET_SIZE(drawn->bytes);
    if (drawn->at + (Py_ssize_t)sizeof *number > end && draw_more(drawn) < 0)
        return -1;
    memcpy(number, PyBytes_AS_STRING(drawn->bytes) + drawn->at, sizeof *number);
    drawn->at += (Py_ssize_t)sizeof *number;
    return 0;
}

/* As a number of Python's; NULL with an exception. */
static PyObject *drawn_number(struct drawn *drawn) {
    uint64_t number;
    return next_drawn(drawn, &number) < 0 ? NULL : PyLong_FromUnsignedLongLong(number);
}

/* What EdgeNumbers is, once the module that has it is loaded. */
static PyTypeObject *edges_type;

static void know_edges(PyObject *type) {
    edges_type = (PyTypeObject *)type;
}

enum { FEW_TARGETS = 16 };

/* Draw edges; -1 with an exception. Other threads may run meanwhile. */
static int draw_edges(PyObject *next_edge, uint64_t *edges, Py_ssize_t number) {
    if (Py_TYPE(next_edge) == edges_type) {
        for (Py_ssize_t at = 0; at < number; at++)
            if (next_drawn(DRAWN(next_edge), &edges[at]) < 0)
                return -1;
        return 0;
    }
    for (Py_ssize_t at = 0; at < number; at++) {
        PyObject *edge = PyObject_CallNoArgs(next_edge);
        int outcome = edge == NULL ? -1 : number_of(edge, &edges[at]);
        Py_XDECREF(edge);
        if (outcome < 0)
            return -1;
    }
    return 0;
}

/* A row for some buffers, and whose it is. */
struct delivery {
    const void *row;
    Py_ssize_t bytes;
    uint64_t root; /* 0 for none */
    PyObject *next_edge;
    int stream, tracked, shares_edges;
};

/* Add it to one of its buffers with edges for all targets; `*total` is the xor of those and before. */
static int put_with_edges(struct contents *to, const struct delivery *it, struct addition *tuple,
                          uint64_t *total) {
    uint64_t few[FEW_TARGETS] = {0}, *edges = few;
    int outcome = 0;
    if (to->targets > FEW_TARGETS
        && (edges = PyMem_RawCalloc((size_t)to->targets, sizeof *edges)) == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    if (it->root)
        outcome = draw_edges(it->next_edge, edges, to->targets);
    if (outcome == 0) {
        tuple->targets = to->targets;
        tuple->edges = edges;
        tuple->begins_run = it->shares_edges && to->targets == 1 && !to->is_fanout && !to->is_mixed
            && !to->has_extras;
        outcome = add_tuple(to, tuple);
    }
    for (Py_ssize_t at = 0; outcome == 0 && at < to->targets; at++)
        *total ^= edges[at];
    if (edges != few)
        PyMem_RawFree(edges);
    return outcome;
}

static int put_in(PyObject *buffer, const struct delivery *it, int is_repeat, uint64_t *total) {
    if (!is_buffer(buffer)) {
        PyErr_SetString(PyExc_TypeError, "a tuple is put into what is no buffer");
        return -1;
    }
    struct contents *to = CONTENTS(buffer);
    struct addition tuple = {.row = it->row, .bytes = it->bytes, .root = it->root,
                             .stream = to->is_mixed ? it->stream : -1, .is_repeat = is_repeat};
    if (it->tracked && !goes_on(to, it->root))
        return put_with_edges(to, it, &tuple, total);
    return add_tuple(to, &tuple);
}

static int put_in_all(PyObject *const *buffers, Py_ssize_t number, const struct delivery *it,
                      uint64_t *total) {
    int outcome = 0;
    for (Py_ssize_t at = 0; outcome == 0 && at < number; at++)
        outcome = put_in(buffers[at], it, at > 0, total);
    return outcome;
}

/* hot_buffers.put_tuple. */
static PyObject *put_packed(PyObject *list, PyObject *data, PyObject *root, int stream,
                            int tracked, int shares_edges, PyObject *next_edge) {
    uint64_t total = 0;
    struct delivery it = {PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data), 0, next_edge, stream,
                          tracked, shares_edges};
    PyObject *buffers = number_of(root, &it.root) < 0 ? NULL : PyList_AsTuple(list);
    if (buffers == NULL)
        return NULL;
    int outcome = put_in_all(PySequence_Fast_ITEMS(buffers), PyTuple_GET_SIZE(buffers), &it, &total);
    Py_DECREF(buffers);
    return outcome < 0 ? NULL : PyLong_FromUnsignedLongLong(total);
}

/* Begin to be the buffer of so many targets: 0 if it is no fan-out. */
static void begin_packed(struct contents *contents, Py_ssize_t targets) {
    contents->is_fanout = targets > 0;
    contents->targets = targets ? targets : 1;
}

static void end_run(struct contents *contents) {
    contents->has_run = 0;
}

/* Free what it has room for, if that is worth it and it used little of it. */
static void give_back(void **items, Py_ssize_t *room, Py_ssize_t used, size_t item_bytes) {
    if ((size_t)*room * item_bytes <= IDLE_BYTES_MAX || used > *room / 4)
        return;
    PyMem_RawFree(*items);
    *items = NULL;
    *room = 0;
}

#define GIVE_BACK(contents, items, room, used) \
    give_back((void **)&(contents)->items, &(contents)->room, used, sizeof *(contents)->items)

static void empty_packed(struct contents *contents) {
    GIVE_BACK(contents, rows, row_room, contents->bytes);
    GIVE_BACK(contents, ids, id_room, 2 * contents->targets * contents->pairs);
    GIVE_BACK(contents, starts, start_room, contents->pairs);
    GIVE_BACK(contents, streams, stream_room, contents->tuples);
    GIVE_BACK(contents, repeats, repeat_room, contents->repeated);
    contents->tuples = contents->pairs = contents->bytes = contents->repeated = 0;
    contents->has_extras = 0;
    end_run(contents);
}

static void free_packed(struct contents *contents) {
    PyMem_RawFree(contents->rows);
    PyMem_RawFree(contents->ids);
    PyMem_RawFree(contents->starts);
    PyMem_RawFree(contents->streams);
    PyMem_RawFree(contents->repeats);
}

/* --- roots and values of acks ------------------------------------------------------------------ */

struct numbers {
    uint64_t *items;
    Py_ssize_t used, room;
};

/* Add a root and a value; -1 with MemoryError. */
static int put_pair(struct numbers *to, uint64_t root, uint64_t value) {
    if (ROOM_FOR(to, items, room, to->used + 2) < 0)
        return -1;
    to->items[to->used++] = root;
    to->items[to->used++] = value;
    return 0;
}

/* Add all numbers of a list, or none of them with an exception. */
static int put_numbers(struct numbers *to, PyObject *list) {
    Py_ssize_t number = PyList_GET_SIZE(list);
    if (ROOM_FOR(to, items, room, to->used + number) < 0)
        return -1;
    for (Py_ssize_t at = 0; at < number; at++)
        if (number_of(PyList_GET_ITEM(list, at), &to->items[to->used + at]) < 0)
            return -1;
    to->used += number;
    return 0;
}

static PyObject *listed_numbers(const struct numbers *numbers) {
    PyObject *list = PyList_New(numbers->used);
    for (Py_ssize_t at = 0; list != NULL && at < numbers->used; at++) {
        PyObject *number = PyLong_FromUnsignedLongLong(numbers->items[at]);
        if (number == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, at, number);
    }
    return list;
}

static PyObject *packed_numbers(const struct numbers *numbers) {
    Py_ssize_t bytes = numbers->used * (Py_ssize_t)sizeof *numbers->items;
    return PyBytes_FromStringAndSize((const char *)numbers->items, bytes);
}

/* What all roots of the pairs have above their lowest bits; 0 if that differs. */
static uint64_t common_owner(const struct numbers *pairs, int counter_bits) {
    uint64_t differ = 0;
    for (Py_ssize_t at = 2; at < pairs->used; at += 2)
        differ |= pairs->items[at] ^ pairs->items[0];
    return pairs->used && !(differ >> counter_bits) ? pairs->items[0] >> counter_bits : 0;
}

static void empty_numbers(struct numbers *numbers) {
    GIVE_BACK(numbers, items, room, numbers->used);
    numbers->used = 0;
}

static void free_numbers(struct numbers *numbers) {
    PyMem_RawFree(numbers->items);
}

/* --- and as they are sent: wire/batch.py has the layout --------------------------------------- */

static PyObject *packed_body(const struct contents *contents) {
    PyObject *body = PyBytes_FromStringAndSize(NULL, ROWS_HEAD_BYTES + contents->bytes);
    if (body == NULL)
        return NULL;
    unsigned char *out = (unsigned char *)PyBytes_AS_STRING(body);
    out = put_number(out, ROWS_HEAD, (unsigned long long)contents->tuples, ROWS_HEAD_BYTES - 1);
    if (contents->bytes)
        memcpy(out, contents->rows, (size_t)contents->bytes);
    return body;
}

/* A header of heron_core.wire.frames, which reports nothing as consumed; little endian, as all
   machines are that this runs on. */
static PyObject *packed_header(
    uint32_t first, uint16_t stream, uint32_t epoch, uint32_t source, uint32_t destination, uint32_t items) {
    uint32_t numbers[] = {first, stream, epoch, source, destination, items};
    return PyBytes_FromStringAndSize((const char *)numbers, sizeof numbers);
}

/* The pairs of the first target, those of the second, … */
static PyObject *packed_ids(const struct contents *contents) {
    Py_ssize_t targets = contents->targets;
    Py_ssize_t pair_bytes = 2 * (Py_ssize_t)sizeof *contents->ids, numbers = 2 * targets * contents->pairs;
    PyObject *ids = PyBytes_FromStringAndSize(NULL, numbers * (Py_ssize_t)sizeof *contents->ids);
    if (ids == NULL)
        return NULL;
    char *out = PyBytes_AS_STRING(ids);
    for (Py_ssize_t target = 0; target < targets; target++)
        for (Py_ssize_t pair = 0; pair < contents->pairs; pair++, out += pair_bytes)
            memcpy(out, contents->ids + 2 * (pair * targets + target), (size_t)pair_bytes);
    return ids;
}

/* How many tuples share each pair. */
static PyObject *packed_sizes(const struct contents *contents) {
    PyObject *sizes = PyBytes_FromStringAndSize(NULL, contents->pairs * (Py_ssize_t)sizeof(uint32_t));
    if (sizes == NULL)
        return NULL;
    char *out = PyBytes_AS_STRING(sizes);
    for (Py_ssize_t pair = 0; pair < contents->pairs; pair++, out += sizeof(uint32_t)) {
        int is_last = pair + 1 == contents->pairs;
        uint32_t end = is_last ? (uint32_t)contents->tuples : contents->starts[pair + 1];
        uint32_t size = end - contents->starts[pair];
        memcpy(out, &size, sizeof size);
    }
    return sizes;
}

static PyObject *packed_streams(const struct contents *contents) {
    Py_ssize_t bytes = contents->tuples * (Py_ssize_t)sizeof *contents->streams;
    return PyBytes_FromStringAndSize((const char *)contents->streams, bytes);
}

static PyObject *packed_repeats(const struct contents *contents) {
    PyObject *repeats = PyList_New(contents->repeated);
    for (Py_ssize_t at = 0; repeats != NULL && at < contents->repeated; at++) {
        PyObject *position = PyLong_FromUnsignedLong(contents->repeats[at]);
        if (position == NULL)
            Py_CLEAR(repeats);
        else
            PyList_SET_ITEM(repeats, at, position);
    }
    return repeats;
}

#endif
