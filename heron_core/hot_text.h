/* The bytes of text, for hot_buffers.h, hot_keys.h and hot_rows.h. */

#ifndef HOT_TEXT_H
#define HOT_TEXT_H

#include <Python.h>
#include <stdint.h>
#include <string.h>

/* As PyUnicode_AsUTF8AndSize, without a call for text that has its bytes in itself: all of ASCII. */
static inline const char *utf8_of(PyObject *text, Py_ssize_t *size) {
    if (PyUnicode_IS_COMPACT_ASCII(text)) {
        *size = PyUnicode_GET_LENGTH(text);
        return (const char *)PyUnicode_1BYTE_DATA(text);
    }
    return PyUnicode_AsUTF8AndSize(text, size);
}

static inline int is_ascii(const unsigned char *text, Py_ssize_t size) {
    uint64_t seen = 0, eight;
    for (; size >= 8; size -= 8, text += 8) {
        memcpy(&eight, text, 8);
        seen |= eight;
    }
    while (size-- > 0)
        seen |= *text++;
    return !(seen & 0x8080808080808080ull);
}

/* Text of UTF-8. Python has one object for each text of no or of one character. */
static inline PyObject *new_text(const unsigned char *text, Py_ssize_t size) {
    if (size < 2 || !is_ascii(text, size))
        return PyUnicode_DecodeUTF8((const char *)text, size, NULL);
    PyObject *made = PyUnicode_New(size, 0x7f);
    if (made != NULL)
        memcpy(PyUnicode_1BYTE_DATA(made), text, (size_t)size);
    return made;
}

#endif
