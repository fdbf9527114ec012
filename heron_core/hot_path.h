/* The two functions of hot_path.py that are C when it is compiled. */

#include <Python.h>
#include <string.h>

enum {
    PLAIN_VALUES_MAX = 15,  /* as many as an array's one-byte head can say */
    PLAIN_BYTES_MAX = 512,  /* on the stack; longer rows are worth the call of the packer */
    NUMBER_BYTES_MAX = 9,   /* a head and 64 bits */
};

/* A head of one byte and a number of `bytes` bytes behind it, the highest first. */
static unsigned char *put_number(unsigned char *out, int head, unsigned long long number, int bytes) {
    *out++ = (unsigned char)head;
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
        *out++ = (unsigned char)(number >> shift);
    return out;
}

/* msgpack's shortest form; NULL without an exception for what has more than 64 bits. */
static unsigned char *put_int(unsigned char *out, PyObject *value) {
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow)
        return NULL;
    if (number >= -32 && number < 128) {
        *out++ = (unsigned char)number;
        return out;
    }
    if (number >= 0) {
        int step = number <= 0xff ? 0 : number <= 0xffff ? 1 : number <= 0xffffffffLL ? 2 : 3;
        return put_number(out, 0xcc + step, (unsigned long long)number, 1 << step);
    }
    int step = number >= -0x80 ? 0 : number >= -0x8000 ? 1 : number >= -0x80000000LL ? 2 : 3;
    return put_number(out, 0xd0 + step, (unsigned long long)number, 1 << step);
}

static unsigned char *put_float(unsigned char *out, PyObject *value) {
    double number = PyFloat_AS_DOUBLE(value);
    unsigned long long bits;
    memcpy(&bits, &number, sizeof bits);
    return put_number(out, 0xcb, bits, 8);
}

/* NULL without an exception if it is too long. */
static unsigned char *put_text(unsigned char *out, unsigned char *end, const char *text, Py_ssize_t size) {
    if (size > end - out - NUMBER_BYTES_MAX)
        return NULL;
    if (size < 32)
        *out++ = (unsigned char)(0xa0 | size);
    else
        out = put_number(out, size < 256 ? 0xd9 : 0xda, (unsigned long long)size, size < 256 ? 1 : 2);
    memcpy(out, text, (size_t)size);
    return out + size;
}

static unsigned char *put_bytes(unsigned char *out, unsigned char *end, PyObject *value) {
    Py_ssize_t size = PyBytes_GET_SIZE(value);
    if (size > end - out - NUMBER_BYTES_MAX)
        return NULL;
    out = put_number(out, size < 256 ? 0xc4 : 0xc5, (unsigned long long)size, size < 256 ? 1 : 2);
    memcpy(out, PyBytes_AS_STRING(value), (size_t)size);
    return out + size;
}

/* NULL for what is not plain or too long, or with an exception (text with a lone surrogate). */
static unsigned char *put_value(unsigned char *out, unsigned char *end, PyObject *value) {
    if (PyUnicode_CheckExact(value)) {
        Py_ssize_t size;
        const char *text = PyUnicode_AsUTF8AndSize(value, &size);
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
        *out++ = value == Py_None ? 0xc0 : value == Py_False ? 0xc2 : 0xc3;
        return out;
    }
    return NULL;
}

/* The bytes that `pack` makes of the values, without it for a short list of short plain values. */
static PyObject *packed_plain(PyObject *values, PyObject *pack) {
    unsigned char buffer[PLAIN_BYTES_MAX], *out = buffer, *end = buffer + PLAIN_BYTES_MAX;
    if (PyList_CheckExact(values) && PyList_GET_SIZE(values) <= PLAIN_VALUES_MAX) {
        Py_ssize_t count = PyList_GET_SIZE(values);
        *out++ = (unsigned char)(0x90 | count);
        for (Py_ssize_t at = 0; out != NULL && at < count; at++)
            out = put_value(out, end, PyList_GET_ITEM(values, at));
        if (out != NULL)
            return PyBytes_FromStringAndSize((char *)buffer, out - buffer);
        PyErr_Clear(); /* the packer says it in its own way */
    }
    return PyObject_CallOneArg(pack, values);
}

/* kind((key, …)), for a class that only has `tuple.__new__` without making a tuple twice. */
static PyObject *made_tuple(PyObject *kind, PyObject *key, PyObject *component, PyObject *stream,
                            PyObject *task, PyObject *values, PyObject *created, PyObject *roots) {
    PyObject *items[] = {key, component, stream, task, values, created, roots};
    enum { ITEMS = sizeof items / sizeof items[0] };
    PyTypeObject *type = (PyTypeObject *)kind;
    PyObject *made;
    if (PyType_Check(kind) && PyType_IsSubtype(type, &PyTuple_Type)
        && type->tp_new == PyTuple_Type.tp_new && type->tp_init == PyTuple_Type.tp_init
        && Py_TYPE(kind)->tp_call == PyType_Type.tp_call) {
        made = type->tp_alloc(type, ITEMS);
        for (int at = 0; made != NULL && at < ITEMS; at++) {
            Py_INCREF(items[at]);
            PyTuple_SET_ITEM(made, at, items[at]);
        }
        return made;
    }
    PyObject *whole = PyTuple_New(ITEMS);
    if (whole == NULL)
        return NULL;
    for (int at = 0; at < ITEMS; at++) {
        Py_INCREF(items[at]);
        PyTuple_SET_ITEM(whole, at, items[at]);
    }
    made = PyObject_CallOneArg(kind, whole);
    Py_DECREF(whole);
    return made;
}
