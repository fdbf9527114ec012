/* The functions of hot_messages.py that are C when it is compiled. */

#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "hot_trees.h"

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
enum { BYTES_OF_A_PAIR = 16, BYTES_OF_A_LENGTH = 4, FRAMES_MAX = 255 };
static const double NO_LIMIT = 4611686018427387904.0; /* hot_messages.py: UNLIMITED */

/* The owner of a root in a packet of pairs; 0, which is none, where the packet ends before. */
static Py_ssize_t owner_at(PyObject *data, Py_ssize_t at) {
    int is_there = PyBytes_CheckExact(data) && at >= 0 && at + BYTES_OF_A_PAIR <= PyBytes_GET_SIZE(data);
    return is_there ? (Py_ssize_t)(number_in(data, at) >> COUNTER_BITS_OF_A_ROOT) : 0;
}

static Py_ssize_t end_of_run(PyObject *data, Py_ssize_t at) {
    Py_ssize_t end = at + BYTES_OF_A_PAIR, owner = owner_at(data, at);
    while (end + BYTES_OF_A_PAIR <= PyBytes_GET_SIZE(data) && owner_at(data, end) == owner)
        end += BYTES_OF_A_PAIR;
    return end;
}

/* --- several messages in one --- */

/* A list of so many frames, whose lengths and bytes are at these places; NULL without an error if
   they reach beyond the end. */
static PyObject *frames_at(int frames, const char *lengths, const char **start, const char *end) {
    PyObject *message = PyList_New(frames);
    for (int at = 0; message != NULL && at < frames; at++) {
        uint32_t length;
        memcpy(&length, lengths + at * BYTES_OF_A_LENGTH, sizeof length);
        PyObject *frame = (Py_ssize_t)length <= end - *start
            ? PyBytes_FromStringAndSize(*start, (Py_ssize_t)length) : NULL;
        if (frame == NULL) {
            Py_CLEAR(message);
            break;
        }
        PyList_SET_ITEM(message, at, frame);
        *start += length;
    }
    return message;
}

static PyObject *split_data(PyObject *data, Py_ssize_t messages) {
    if (!PyBytes_CheckExact(data) || messages <= 0 || messages > PyBytes_GET_SIZE(data))
        Py_RETURN_NONE;
    const unsigned char *counts = (const unsigned char *)PyBytes_AS_STRING(data);
    const char *lengths = (const char *)counts + messages, *start = lengths;
    const char *end = (const char *)counts + PyBytes_GET_SIZE(data);
    Py_ssize_t frames = 0;
    for (Py_ssize_t at = 0; at < messages; at++) {
        if (counts[at] == 0)
            Py_RETURN_NONE;
        frames += counts[at];
    }
    if (frames > (end - lengths) / BYTES_OF_A_LENGTH)
        Py_RETURN_NONE;
    start += frames * BYTES_OF_A_LENGTH;
    PyObject *parts = PyList_New(messages);
    for (Py_ssize_t at = 0; parts != NULL && at < messages; at++) {
        PyObject *message = frames_at(counts[at], lengths, &start, end);
        if (message == NULL) {
            Py_DECREF(parts);
            if (PyErr_Occurred())
                return NULL;
            Py_RETURN_NONE;
        }
        PyList_SET_ITEM(parts, at, message);
        lengths += counts[at] * BYTES_OF_A_LENGTH;
    }
    if (parts != NULL && start != end) {
        Py_DECREF(parts);
        Py_RETURN_NONE;
    }
    return parts;
}

/* How many bytes the frames of some messages have in all, and how many these are; -1 with an error
   for what is not a list of messages of the protocol. */
static Py_ssize_t sizes_of(PyObject *messages, Py_ssize_t *frames) {
    Py_ssize_t size = 0;
    *frames = 0;
    for (Py_ssize_t at = 0; at < PyList_GET_SIZE(messages); at++) {
        PyObject *message = PyList_GET_ITEM(messages, at);
        Py_ssize_t more = message_bytes(message);
        if (more < 0)
            return -1;
        if (PyList_GET_SIZE(message) > FRAMES_MAX) {
            PyErr_SetString(PyExc_ValueError, "a message of more than 255 frames");
            return -1;
        }
        for (Py_ssize_t of = 0; of < PyList_GET_SIZE(message); of++)
            if (PyBytes_GET_SIZE(PyList_GET_ITEM(message, of)) > (Py_ssize_t)UINT32_MAX) {
                PyErr_SetString(PyExc_OverflowError, "a frame of more than 4 GiB");
                return -1;
            }
        size += more;
        *frames += PyList_GET_SIZE(message);
    }
    return size;
}

static PyObject *joined_data(PyObject *messages) {
    Py_ssize_t frames = 0, size = PyList_Check(messages) ? sizes_of(messages, &frames) : -1;
    if (size < 0)
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "not a list of messages");
    Py_ssize_t many = PyList_GET_SIZE(messages);
    PyObject *data = PyBytes_FromStringAndSize(NULL, many + frames * BYTES_OF_A_LENGTH + size);
    if (data == NULL)
        return NULL;
    char *count = PyBytes_AS_STRING(data), *length = count + many;
    char *into = length + frames * BYTES_OF_A_LENGTH;
    for (Py_ssize_t at = 0; at < many; at++) {
        PyObject *message = PyList_GET_ITEM(messages, at);
        *count++ = (char)PyList_GET_SIZE(message);
        for (Py_ssize_t of = 0; of < PyList_GET_SIZE(message); of++) {
            PyObject *frame = PyList_GET_ITEM(message, of);
            uint32_t bytes = (uint32_t)PyBytes_GET_SIZE(frame);
            memcpy(length, &bytes, sizeof bytes);
            memcpy(into, PyBytes_AS_STRING(frame), bytes);
            length += sizeof bytes;
            into += bytes;
        }
    }
    return data;
}

/* --- frames that are received --- */

/* Up to so many free bytes stay with the process, and buffers up to that size are not mapped: a
   megabyte that is unmapped after each large message costs 256 page faults for the next. */
enum { KEPT_BYTES = 8 << 20 };

static void keep_freed_memory(void) {
    static int is_kept = 0; /* guarded by the interpreter's lock */
#ifdef __GLIBC__
    if (!is_kept) {
        mallopt(M_MMAP_THRESHOLD, KEPT_BYTES);
        mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
    }
#endif
    is_kept = 1;
}

/* A frame whose bytes are still to come, and a view to put them there. The view does not keep the
   frame: the caller has both, and drops the view when the frame is whole. */
static PyObject *blank_frame(Py_ssize_t size) {
    PyObject *frame = PyBytes_FromStringAndSize(NULL, size);
    if (frame == NULL)
        return NULL;
    PyObject *view = PyMemoryView_FromMemory(PyBytes_AS_STRING(frame), size, PyBUF_WRITE);
    if (view == NULL) {
        Py_DECREF(frame);
        return NULL;
    }
    PyObject *both = PyTuple_Pack(2, frame, view);
    Py_DECREF(frame);
    Py_DECREF(view);
    return both;
}

/* --- queues --- */

static Py_ssize_t next_limit(Py_ssize_t size, double worth, double mark) {
    Py_ssize_t whole = (Py_ssize_t)ceil(worth < NO_LIMIT ? worth : NO_LIMIT);
    Py_ssize_t beyond = (Py_ssize_t)floor(mark < NO_LIMIT ? mark : NO_LIMIT) + 1;
    Py_ssize_t limit = whole <= 0 ? size + 1 : whole > size ? whole : size + whole;
    if (size < beyond && (beyond < limit || whole <= 0))
        limit = beyond;
    return limit < (Py_ssize_t)NO_LIMIT ? limit : (Py_ssize_t)NO_LIMIT;
}
