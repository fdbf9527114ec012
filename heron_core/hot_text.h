/* The bytes of text, for hot_buffers.h and hot_keys.h. */

#ifndef HOT_TEXT_H
#define HOT_TEXT_H

#include <Python.h>

/* As PyUnicode_AsUTF8AndSize, without a call for text that has its bytes in itself: all of ASCII. */
static inline const char *utf8_of(PyObject *text, Py_ssize_t *size) {
    if (PyUnicode_IS_COMPACT_ASCII(text)) {
        *size = PyUnicode_GET_LENGTH(text);
        return (const char *)PyUnicode_1BYTE_DATA(text);
    }
    return PyUnicode_AsUTF8AndSize(text, size);
}

#endif
