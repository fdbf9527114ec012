/* The two functions of hot_emit.py that are C when it is compiled. */

#include <Python.h>
#include <string.h>

#include "hot_msgpack.h"

enum {
    PLAIN_BYTES_MAX = 512, /* on the stack; longer rows are worth the call of the packer */
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
        *out++ = value == Py_None ? NIL : value == Py_False ? FALSE_HEAD : TRUE_HEAD;
        return out;
    }
    return NULL;
}

/* The bytes that `pack` makes of the values, without it for a short list of short plain values. */
static PyObject *packed_plain(PyObject *values, PyObject *pack) {
    unsigned char buffer[PLAIN_BYTES_MAX], *out = buffer, *end = buffer + PLAIN_BYTES_MAX;
    if (PyList_CheckExact(values) && PyList_GET_SIZE(values) <= ROW_VALUES_MAX) {
        Py_ssize_t count = PyList_GET_SIZE(values);
        *out++ = (unsigned char)(ROW_HEAD | count);
        for (Py_ssize_t at = 0; out != NULL && at < count; at++)
            out = put_value(out, end, PyList_GET_ITEM(values, at));
        if (out != NULL)
            return PyBytes_FromStringAndSize((char *)buffer, out - buffer);
        PyErr_Clear(); /* the packer says it in its own way */
    }
    return PyObject_CallOneArg(pack, values);
}

/* --- the slot of a key: heron_core.algorithms.hashing of plain values ------------------------- */

static const unsigned int CRC_POLYNOMIAL = 0xedb88320u; /* zlib's, the lowest bit first */
static const unsigned int HASH_SPREAD = 2654435761u;    /* hashing._SPREAD */

enum {
    HASH_BITS = 32,
    KEY_NUMBER_BYTES_MAX = 24,    /* "n", a sign, 19 digits */
    KEY_BYTES_MAX = 1 << 16,      /* a longer text is worth a dict's look at its hash */
};

static const unsigned int *crc_table(void) {
    static unsigned int table[256];
    if (table[1] == 0)
        for (unsigned int byte = 0; byte < 256; byte++) {
            unsigned int crc = byte;
            for (int bit = 0; bit < 8; bit++)
                crc = crc & 1 ? (crc >> 1) ^ CRC_POLYNOMIAL : crc >> 1;
            table[byte] = crc;
        }
    return table;
}

static unsigned int put_crc(unsigned int crc, const char *data, Py_ssize_t size) {
    const unsigned int *table = crc_table();
    for (Py_ssize_t at = 0; at < size; at++)
        crc = table[(crc ^ (unsigned char)data[at]) & 0xff] ^ (crc >> 8);
    return crc;
}

/* A whole number in decimal digits, which end where `room` ends; `size` is told how many. */
static const char *decimal_digits(long long whole, char *room, Py_ssize_t *size) {
    unsigned long long left = whole < 0 ? 0ull - (unsigned long long)whole : (unsigned long long)whole;
    char *at = room + KEY_NUMBER_BYTES_MAX;
    do
        *--at = (char)('0' + left % 10);
    while ((left /= 10) > 0);
    if (whole < 0)
        *--at = '-';
    *size = room + KEY_NUMBER_BYTES_MAX - at;
    return at;
}

/* Which of `slots` ranges a key falls into, by the checksum of its canonical form. */
static Py_ssize_t slot_of(unsigned int crc, Py_ssize_t slots) {
    unsigned int hashed = (crc ^ 0xffffffffu) * HASH_SPREAD;
    return (Py_ssize_t)(((unsigned long long)hashed * (unsigned long long)slots) >> HASH_BITS);
}

/* One value in its canonical form: a letter and what `data` points to. 0 for what is not plain. */
static int plain_key(PyObject *value, char *number, char *letter, const char **data, Py_ssize_t *size) {
    if (PyUnicode_CheckExact(value)) {
        *letter = 's';
        *data = PyUnicode_AsUTF8AndSize(value, size);
        if (*data == NULL)
            PyErr_Clear(); /* a lone surrogate */
        return *data != NULL && *size <= KEY_BYTES_MAX;
    }
    if (PyBytes_CheckExact(value)) {
        *letter = 'b';
        *data = PyBytes_AS_STRING(value);
        *size = PyBytes_GET_SIZE(value);
        return *size <= KEY_BYTES_MAX;
    }
    if (PyLong_CheckExact(value)) {
        int overflow;
        long long whole = PyLong_AsLongLongAndOverflow(value, &overflow);
        *letter = 'n';
        *data = decimal_digits(whole, number, size);
        return !overflow;
    }
    return 0;
}

/* Which of `slots` ranges the key falls into; -1 if one of its values is not plain. */
static Py_ssize_t plain_slot(PyObject *key, int are_several, Py_ssize_t slots) {
    char number[KEY_NUMBER_BYTES_MAX], letter;
    const char *data;
    Py_ssize_t size;
    unsigned int crc = 0xffffffffu;
    Py_ssize_t values = are_several ? PyTuple_GET_SIZE(key) : 1;
    for (Py_ssize_t at = 0; at < values; at++) {
        if (!plain_key(are_several ? PyTuple_GET_ITEM(key, at) : key, number, &letter, &data, &size))
            return -1;
        if (are_several) { /* each behind its length, as hashing._framed has it */
            unsigned int framed = (unsigned int)size + 1;
            char head[] = {(char)(framed >> 24), (char)(framed >> 16), (char)(framed >> 8), (char)framed};
            crc = put_crc(crc, head, sizeof head);
        }
        crc = put_crc(put_crc(crc, &letter, 1), data, size);
    }
    return slot_of(crc, slots);
}
