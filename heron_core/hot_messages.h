/* The functions of hot_messages.py that are C when it is compiled. */

#include <Python.h>
#include <stdint.h>
#include <string.h>

/* Where a list is declared, Cython also takes None. */
static int is_message(PyObject *frames) { return PyList_CheckExact(frames); }

/* A little-endian number in the first frame, or in what there is of it. */
static Py_ssize_t number_at(PyObject *frames, Py_ssize_t at, Py_ssize_t size) {
    PyObject *head = is_message(frames) && PyList_GET_SIZE(frames) ? PyList_GET_ITEM(frames, 0) : NULL;
    Py_ssize_t number = 0;
    if (head == NULL || !PyBytes_Check(head)) {
        PyErr_SetString(PyExc_TypeError, "a message without a header of bytes");
        return -1;
    }
    Py_ssize_t length = PyBytes_GET_SIZE(head);
    const unsigned char *data = (const unsigned char *)PyBytes_AS_STRING(head);
    for (Py_ssize_t digit = 0; digit < size && at + digit < length; digit++)
        number |= (Py_ssize_t)data[at + digit] << 8 * digit;
    return number;
}

static Py_ssize_t message_items(PyObject *frames) { return number_at(frames, 20, 4); }

static int has_prefix(PyObject *frames, Py_ssize_t prefix) {
    Py_ssize_t number = number_at(frames, 0, 2);
    return number < 0 ? -1 : number == prefix;
}

static Py_ssize_t message_bytes(PyObject *frames) {
    Py_ssize_t size = 0;
    if (!is_message(frames)) {
        PyErr_SetString(PyExc_TypeError, "a message that is not a list of frames");
        return -1;
    }
    for (Py_ssize_t at = 0; at < PyList_GET_SIZE(frames); at++) {
        PyObject *frame = PyList_GET_ITEM(frames, at);
        if (!PyBytes_Check(frame)) {
            PyErr_SetString(PyExc_TypeError, "a frame that is not of bytes");
            return -1;
        }
        size += PyBytes_GET_SIZE(frame);
    }
    return size;
}

enum { COUNTER_BITS_OF_A_ROOT = 44 }; /* wire/frames.py: ROOT_COUNTER_BITS */

/* The owner of a root in a packet of pairs; 0, which is none, where the packet ends before. */
static Py_ssize_t owner_at(PyObject *data, Py_ssize_t at) {
    uint64_t root = 0;
    if (PyBytes_CheckExact(data) && at >= 0 && at + (Py_ssize_t)sizeof root <= PyBytes_GET_SIZE(data))
        memcpy(&root, PyBytes_AS_STRING(data) + at, sizeof root);
    return (Py_ssize_t)(root >> COUNTER_BITS_OF_A_ROOT);
}
