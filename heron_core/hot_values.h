/* Plain values as msgpack: for hot_buffers.h and hot_tables.h. */

#ifndef HOT_VALUES_H
#define HOT_VALUES_H

#include <Python.h>
#include <string.h>

#include "hot_msgpack.h"
#include "hot_text.h"

enum {
    PLAIN_BYTES_MAX = 4096, /* on the stack; longer rows are worth the call of the packer */
};

/* A head of one byte and a number of `bytes` bytes behind it, the highest first. */
static unsigned char *put_number(unsigned char *out, int head, unsigned long long number, int bytes) {
    *out++ = (unsigned char)head;
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
        *out++ = (unsigned char)(number >> shift);
    return out;
}

/* The head of text or bytes of so many bytes, of which the stack has room for two bytes of size. */
static unsigned char *put_size(unsigned char *out, int head, Py_ssize_t size) {
    int step = size <= 0xff ? 0 : 1;
    return put_number(out, head + step, (unsigned long long)size, 1 << step);
}

/* msgpack's shortest form; NULL without an exception for what has more than 64 bits. */
static unsigned char *put_int(unsigned char *out, PyObject *value) {
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow)
        return NULL;
    if (number >= SMALL_NUMBER_MIN && number <= SMALL_NUMBER_MAX) {
        *out++ = (unsigned char)number;
        return out;
    }
    if (number >= 0) {
        int step = number <= 0xff ? 0 : number <= 0xffff ? 1 : number <= 0xffffffffLL ? 2 : 3;
        return put_number(out, UNSIGNED_HEAD + step, (unsigned long long)number, 1 << step);
    }
    int step = number >= -0x80 ? 0 : number >= -0x8000 ? 1 : number >= -0x80000000LL ? 2 : 3;
    return put_number(out, SIGNED_HEAD + step, (unsigned long long)number, 1 << step);
}

static unsigned char *put_float(unsigned char *out, PyObject *value) {
    double number = PyFloat_AS_DOUBLE(value);
    unsigned long long bits;
    memcpy(&bits, &number, sizeof bits);
    return put_number(out, FLOAT_HEAD, bits, 8);
}

/* NULL without an exception if it is too long. */
static unsigned char *put_text(unsigned char *out, unsigned char *end, const char *text, Py_ssize_t size) {
    if (size > end - out - NUMBER_BYTES_MAX)
        return NULL;
    if (size <= SHORT_TEXT_BYTES_MAX)
        *out++ = (unsigned char)(SHORT_TEXT_HEAD | size);
    else
        out = put_size(out, TEXT_HEAD, size);
    memcpy(out, text, (size_t)size);
    return out + size;
}

static unsigned char *put_bytes(unsigned char *out, unsigned char *end, PyObject *value) {
    Py_ssize_t size = PyBytes_GET_SIZE(value);
    if (size > end - out - NUMBER_BYTES_MAX)
        return NULL;
    out = put_size(out, BYTES_HEAD, size);
    memcpy(out, PyBytes_AS_STRING(value), (size_t)size);
    return out + size;
}

/* NULL for what is not plain or too long, or with an exception (text with a lone surrogate). */
static unsigned char *put_value(unsigned char *out, unsigned char *end, PyObject *value) {
    if (PyUnicode_CheckExact(value)) {
        Py_ssize_t size;
        const char *text = utf8_of(value, &size);
        return text == NULL ? NULL : put_text(out, end, text, size);
    }
    if (PyBytes_CheckExact(value))
        return put_bytes(out, end, value);
    if (end - out < NUMBER_BYTES_MAX)
        return NULL;
    if (PyLong_CheckExact(value))
        return put_int(out, value);
    if (PyFloat_CheckExact(value))
        return put_float(out, value);
    if (value == Py_None || value == Py_False || value == Py_True) {
        *out++ = value == Py_None ? NIL : value == Py_False ? FALSE_HEAD : TRUE_HEAD;
        return out;
    }
    return NULL;
}

/* The size of the row of some values, packed at `out`; -1 for a long one or others than short plain
   values, and without an exception. */
static Py_ssize_t plain_row(unsigned char *out, PyObject **values, Py_ssize_t count) {
    unsigned char *begin = out, *end = out + PLAIN_BYTES_MAX;
    if (count > ROW_VALUES_MAX)
        return -1;
    *out++ = (unsigned char)(ROW_HEAD | count);
    for (Py_ssize_t at = 0; out != NULL && at < count; at++)
        out = put_value(out, end, values[at]);
    if (out != NULL)
        return out - begin;
    PyErr_Clear(); /* the packer says it in its own way */
    return -1;
}

/* The bytes that `pack` makes of the values, without it for a short list of short plain values. */
static PyObject *packed_plain(PyObject *values, PyObject *pack) {
    unsigned char row[PLAIN_BYTES_MAX];
    if (PyList_CheckExact(values)) {
        Py_ssize_t size = plain_row(row, PySequence_Fast_ITEMS(values), PyList_GET_SIZE(values));
        if (size >= 0)
            return PyBytes_FromStringAndSize((char *)row, size);
    }
    return PyObject_CallOneArg(pack, values);
}

#endif
