/* The functions of hot_columns.py that are C when it is compiled: the slots of the keys of columns. */

#include <Python.h>
#include <stdint.h>
#include "hot_keys.h"

/* A bytes-like object, or None for a buffer that Arrow leaves out because it is empty. */
static int open_buffer(PyObject *from, Py_buffer *view) {
    if (from == Py_None) {
        memset(view, 0, sizeof *view);
        return 1;
    }
    return PyObject_GetBuffer(from, view, PyBUF_SIMPLE) == 0;
}

static const uint32_t NO_CRC = 0xffffffffu; /* before the first byte */

static int is_too_short(const char *what) {
    PyErr_Format(PyExc_ValueError, "%s of a column: shorter than its rows", what);
    return -1;
}

/* Put one key's bytes behind those that a row's checksum has: as hashing._framed has it, if framed. */
static uint32_t with_key(uint32_t crc, char letter, const char *data, Py_ssize_t size, int framed) {
    if (framed) {
        uint32_t length = (uint32_t)size + 1;
        char head[] = {(char)(length >> 24), (char)(length >> 16), (char)(length >> 8), (char)length};
        crc = put_crc(crc, head, sizeof head);
    }
    return put_crc(put_crc(crc, &letter, 1), data, size);
}

/* Texts or bytes: `offsets` has rows + 1 int32 from `start` on, which point into `data`. */
static int fold_texts(
        PyObject *crcs, char letter, PyObject *data, PyObject *offsets, Py_ssize_t start, int framed) {
    uint32_t *crc = (uint32_t *)PyByteArray_AS_STRING(crcs);
    Py_ssize_t rows = PyByteArray_GET_SIZE(crcs) / (Py_ssize_t)sizeof *crc;
    Py_buffer texts, places;
    int outcome = 0;
    if (!open_buffer(data, &texts))
        return -1;
    if (!open_buffer(offsets, &places)) {
        PyBuffer_Release(&texts);
        return -1;
    }
    if (start < 0 || places.len / (Py_ssize_t)sizeof(int32_t) < start + rows + 1)
        outcome = is_too_short("offsets");
    const int32_t *place = (const int32_t *)places.buf + start;
    uint32_t bare = put_crc(NO_CRC, &letter, 1); /* of a row whose first column this is */
    for (Py_ssize_t at = 0; outcome == 0 && at < rows; at++) {
        Py_ssize_t from = place[at], to = place[at + 1];
        const char *text = (const char *)texts.buf + from;
        if (from < 0 || to < from || to > texts.len)
            outcome = is_too_short("data");
        else if (framed || crc[at] != NO_CRC)
            crc[at] = with_key(crc[at], letter, text, to - from, framed);
        else
            crc[at] = continued_crc(bare, text, to - from);
    }
    PyBuffer_Release(&places);
    PyBuffer_Release(&texts);
    return outcome;
}

static int has_high_bit(const char *text, Py_ssize_t size) {
    uint64_t all = 0;
    Py_ssize_t at = 0;
    for (; at + (Py_ssize_t)sizeof all <= size; at += sizeof all) {
        uint64_t eight;
        memcpy(&eight, text + at, sizeof eight);
        all |= eight;
    }
    for (; at < size; at++)
        all |= (uint64_t)(unsigned char)text[at];
    return (all & 0x8080808080808080u) != 0;
}

/* Whether the offsets ascend within the data and the texts are ASCII; `offsets` as of fold_texts.
   Both loops look at all that there is: without a way out the compiler takes many at once. */
static int are_ascii(PyObject *data, PyObject *offsets, Py_ssize_t start, Py_ssize_t rows) {
    Py_buffer texts, places;
    if (!open_buffer(data, &texts))
        return -1;
    if (!open_buffer(offsets, &places)) {
        PyBuffer_Release(&texts);
        return -1;
    }
    int outcome = start >= 0 && rows >= 0
        && places.len / (Py_ssize_t)sizeof(int32_t) >= start + rows + 1;
    if (outcome) {
        const int32_t *place = (const int32_t *)places.buf + start;
        const char *text = texts.buf;
        Py_ssize_t from = place[0], to = place[rows];
        uint32_t signs = 0; /* of all offsets, and of their differences, which then fit */
        for (Py_ssize_t at = 0; at < rows; at++)
            signs |= (uint32_t)place[at + 1] | ((uint32_t)place[at + 1] - (uint32_t)place[at]);
        outcome = from >= 0 && !(signs >> 31) && to <= texts.len
            && !has_high_bit(text + from, to - from);
    }
    PyBuffer_Release(&places);
    PyBuffer_Release(&texts);
    return outcome;
}

/* Whole numbers: `data` has int64s, those of the rows from `start` on. */
static int fold_numbers(PyObject *crcs, PyObject *data, Py_ssize_t start, int framed) {
    uint32_t *crc = (uint32_t *)PyByteArray_AS_STRING(crcs);
    Py_ssize_t rows = PyByteArray_GET_SIZE(crcs) / (Py_ssize_t)sizeof *crc;
    Py_buffer numbers;
    int outcome = 0;
    char digits[KEY_NUMBER_BYTES_MAX];
    if (!open_buffer(data, &numbers))
        return -1;
    if (start < 0 || numbers.len / (Py_ssize_t)sizeof(int64_t) < start + rows)
        outcome = is_too_short("numbers");
    const int64_t *number = (const int64_t *)numbers.buf + start;
    for (Py_ssize_t at = 0; outcome == 0 && at < rows; at++) {
        Py_ssize_t size;
        const char *text = decimal_digits(number[at], digits, &size);
        crc[at] = with_key(crc[at], 'n', text, size, framed);
    }
    PyBuffer_Release(&numbers);
    return outcome;
}

/* The rows in the order of their slots, as uint32 in bytes, and how many each slot has. */
static PyObject *ordered_by_slot(PyObject *crcs, Py_ssize_t slots) {
    uint32_t *slot = (uint32_t *)PyByteArray_AS_STRING(crcs); /* the checksum gives way to its slot */
    Py_ssize_t rows = PyByteArray_GET_SIZE(crcs) / (Py_ssize_t)sizeof *slot;
    PyObject *order = PyBytes_FromStringAndSize(NULL, rows * (Py_ssize_t)sizeof(uint32_t));
    PyObject *counts = PyList_New(slots);
    Py_ssize_t *next = PyMem_Calloc(slots + 1, sizeof *next);
    PyObject *outcome = NULL;
    if (order != NULL && counts != NULL && next != NULL) {
        uint32_t *row = (uint32_t *)PyBytes_AS_STRING(order);
        for (Py_ssize_t at = 0; at < rows; at++) {
            slot[at] = (uint32_t)slot_of(slot[at], slots);
            next[slot[at] + 1]++;
        }
        int failed = 0;
        for (Py_ssize_t at = 0; at < slots; at++) {
            PyObject *count = PyLong_FromSsize_t(next[at + 1]);
            failed |= count == NULL;
            PyList_SET_ITEM(counts, at, count);
            next[at + 1] += next[at];
        }
        for (Py_ssize_t at = 0; at < rows; at++)
            row[next[slot[at]]++] = (uint32_t)at;
        outcome = failed ? NULL : PyTuple_Pack(2, order, counts);
    } else if (next == NULL)
        PyErr_NoMemory();
    PyMem_Free(next);
    Py_XDECREF(order);
    Py_XDECREF(counts);
    return outcome;
}
