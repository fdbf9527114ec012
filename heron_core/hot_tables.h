/* The functions of hot_tables.py that are C when it is compiled. */

#include <Python.h>
#include <string.h>

#include "hot_values.h"

/* Whether the type of a value is one of IMMUTABLE. */
static int cannot_change(PyObject *value) {
    PyTypeObject *type = Py_TYPE(value);
    return type == &PyUnicode_Type || type == &PyLong_Type || type == &PyFloat_Type
        || type == &PyBytes_Type || type == &PyBool_Type || value == Py_None
        || type == &PyComplex_Type || type == &PyFrozenSet_Type;
}

/* --- entries of a snapshot -----------------------------------------------------------------------

   Keys, cells and values of a large table are spread over memory, so that packing waits for memory
   three times an entry. One pass packs keys and values, and asks for those of the entries ahead. */

enum {
    AHEAD = 16,              /* entries between a request to memory and its use */
    CACHE_LINE_BYTES = 64,   /* a text's first letters may be behind the line of its head */
    ARRAY_HEAD_BYTES = 5,    /* the longest head of an array */
    SHORT_ARRAY_MAX = 15,
    MIDDLE_ARRAY_MAX = 0xffff,
    SHORT_ARRAY_HEAD = 0x90, /* and so many items */
    MIDDLE_ARRAY_HEAD = 0xdc,
    LONG_ARRAY_HEAD = 0xdd,
    ENTRY_BYTES = 16,        /* of a usual key or value: the first guess of the room */
};

/* As hot_tables.pxd declares Cell, which is final and has no C methods. */
struct cell {
    PyObject_HEAD
    PyObject *value;
    Py_ssize_t noted_in;
};

static inline PyObject *value_of(PyObject *cell) {
    return ((struct cell *)cell)->value;
}

/* Whether the struct fits. */
static int is_value_of(PyObject *cell, PyObject *value) {
    return value_of(cell) == value;
}

struct packed {
    unsigned char *data;
    Py_ssize_t used, room;
};

static int begin_array(struct packed *array, Py_ssize_t entries) {
    array->room = ARRAY_HEAD_BYTES + PLAIN_BYTES_MAX + entries * ENTRY_BYTES;
    array->used = ARRAY_HEAD_BYTES;
    array->data = PyMem_RawMalloc((size_t)array->room);
    return array->data != NULL;
}

/* 0 for what is not plain or too long, and without an exception. */
static int put_item(struct packed *array, PyObject *value) {
    if (array->room - array->used < PLAIN_BYTES_MAX) {
        Py_ssize_t room = 2 * array->room;
        unsigned char *moved = PyMem_RawRealloc(array->data, (size_t)room);
        if (moved == NULL)
            return 0;
        array->data = moved;
        array->room = room;
    }
    unsigned char *out = array->data + array->used;
    unsigned char *end = put_value(out, out + PLAIN_BYTES_MAX, value);
    if (end == NULL) {
        PyErr_Clear(); /* the packer says it in its own way */
        return 0;
    }
    array->used += end - out;
    return 1;
}

/* The array with its head, as msgpack's packer makes it of a list. */
static PyObject *ended_array(struct packed *array, Py_ssize_t items) {
    unsigned char head[ARRAY_HEAD_BYTES], *end = head;
    if (items <= SHORT_ARRAY_MAX)
        *end++ = (unsigned char)(SHORT_ARRAY_HEAD | items);
    else if (items <= MIDDLE_ARRAY_MAX)
        end = put_number(head, MIDDLE_ARRAY_HEAD, (unsigned long long)items, 2);
    else
        end = put_number(head, LONG_ARRAY_HEAD, (unsigned long long)items, 4);
    unsigned char *begin = array->data + ARRAY_HEAD_BYTES - (end - head);
    memcpy(begin, head, (size_t)(end - head));
    return PyBytes_FromStringAndSize((char *)begin, array->data + array->used - begin);
}

static inline void request(PyObject *const *keys, PyObject *const *cells, Py_ssize_t at,
                           Py_ssize_t entries) {
    if (at + 2 * AHEAD < entries) {
        __builtin_prefetch(keys[at + 2 * AHEAD]);
        __builtin_prefetch((char *)keys[at + 2 * AHEAD] + CACHE_LINE_BYTES - 1);
        __builtin_prefetch(cells[at + 2 * AHEAD]);
    }
    if (at + AHEAD < entries)
        __builtin_prefetch(value_of(cells[at + AHEAD]));
}

/* The number of entries packed, without those whose value is `absent`; -1 if one is not plain. */
static Py_ssize_t put_entries(struct packed *of_keys, struct packed *of_values,
                              PyObject *const *keys, PyObject *const *cells, Py_ssize_t entries,
                              PyObject *absent) {
    Py_ssize_t packed = 0;
    for (Py_ssize_t at = 0; at < entries; at++) {
        request(keys, cells, at, entries);
        PyObject *value = value_of(cells[at]);
        if (value == absent)
            continue;
        if (!put_item(of_keys, keys[at]) || !put_item(of_values, value))
            return -1;
        packed++;
    }
    return packed;
}

/* Two msgpack arrays, or None if a key or a value is not plain. */
static PyObject *two_arrays(PyObject *const *keys, PyObject *const *cells, Py_ssize_t entries,
                            PyObject *absent) {
    struct packed of_keys = {0}, of_values = {0};
    PyObject *result = NULL;
    if (!begin_array(&of_keys, entries) || !begin_array(&of_values, entries))
        PyErr_NoMemory();
    else {
        Py_ssize_t packed = put_entries(&of_keys, &of_values, keys, cells, entries, absent);
        result = packed < 0 ? Py_NewRef(Py_None)
                            : Py_BuildValue("(NN)", ended_array(&of_keys, packed),
                                            ended_array(&of_values, packed));
    }
    PyMem_RawFree(of_keys.data);
    PyMem_RawFree(of_values.data);
    return result;
}

/* The msgpack arrays of keys and of the values of their cells, two lists of one length; None if one
   of them is not plain. */
static PyObject *packed_changes(PyObject *keys, PyObject *cells, PyObject *absent) {
    if (PyList_GET_SIZE(keys) == PyList_GET_SIZE(cells))
        return two_arrays(PySequence_Fast_ITEMS(keys), PySequence_Fast_ITEMS(cells),
                          PyList_GET_SIZE(keys), absent);
    PyErr_SetString(PyExc_ValueError, "a key for each cell");
    return NULL;
}

/* The same of a dict: key -> cell. Packing runs no Python code, so that borrowed references do. */
static PyObject *packed_entries(PyObject *entries, PyObject *absent) {
    Py_ssize_t number = PyDict_GET_SIZE(entries), place = 0;
    PyObject **both = PyMem_RawMalloc(2 * (size_t)(number + 1) * sizeof *both);
    if (both == NULL)
        return PyErr_NoMemory();
    PyObject **cells = both + number + 1;
    for (Py_ssize_t at = 0; at < number; at++)
        PyDict_Next(entries, &place, &both[at], &cells[at]);
    PyObject *result = two_arrays(both, cells, number, absent);
    PyMem_RawFree(both);
    return result;
}
