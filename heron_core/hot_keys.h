/* The slot of a key, for hot_emit.h and hot_columns.h. */

#ifndef HOT_KEYS_H
#define HOT_KEYS_H

#include <Python.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "hot_text.h"

/* --- the slot of a key: heron_core.algorithms.hashing of plain values ------------------------- */

static const unsigned int CRC_POLYNOMIAL = 0xedb88320u; /* zlib's, the lowest bit first */
static const unsigned int HASH_SPREAD = 2654435761u;    /* hashing._SPREAD */

enum {
    HASH_BITS = 32,
    KEY_NUMBER_BYTES_MAX = 40,    /* a sign and 19 digits, or 16, a stroke and 19 */
    DENOMINATOR_BITS_MAX = 63,
    KEY_BYTES_MAX = 1 << 16,      /* a longer text is worth a dict's look at its hash */
};

static const double WHOLE_MAX = 9223372036854775808.0; /* 2 ** 63 */

enum { CRC_BYTES = 8 }; /* taken at once; a table of 1 KiB for each stays in the nearest cache */

static unsigned int crc_table[CRC_BYTES][256]; /* [n]: of a byte that has n bytes behind it */

static void make_crc_table(void) {
    for (unsigned int byte = 0; byte < 256; byte++) {
        unsigned int crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? (crc >> 1) ^ CRC_POLYNOMIAL : crc >> 1;
        crc_table[0][byte] = crc;
    }
    for (int behind = 1; behind < CRC_BYTES; behind++)
        for (unsigned int byte = 0; byte < 256; byte++) {
            unsigned int crc = crc_table[behind - 1][byte];
            crc_table[behind][byte] = crc_table[0][crc & 0xff] ^ (crc >> 8);
        }
}

/* The table has been made. */
static inline unsigned int continued_crc(unsigned int crc, const char *data, Py_ssize_t size) {
    for (; size >= CRC_BYTES; size -= CRC_BYTES, data += CRC_BYTES) {
        uint32_t low, high; /* little endian, as all machines that this runs on */
        memcpy(&low, data, sizeof low);
        memcpy(&high, data + sizeof low, sizeof high);
        low ^= crc;
        crc = crc_table[7][low & 0xff] ^ crc_table[6][low >> 8 & 0xff]
            ^ crc_table[5][low >> 16 & 0xff] ^ crc_table[4][low >> 24]
            ^ crc_table[3][high & 0xff] ^ crc_table[2][high >> 8 & 0xff]
            ^ crc_table[1][high >> 16 & 0xff] ^ crc_table[0][high >> 24];
    }
    if (size >= 4) {
        uint32_t four;
        memcpy(&four, data, sizeof four);
        four ^= crc;
        crc = crc_table[3][four & 0xff] ^ crc_table[2][four >> 8 & 0xff]
            ^ crc_table[1][four >> 16 & 0xff] ^ crc_table[0][four >> 24];
        size -= 4;
        data += 4;
    }
    for (; size > 0; size--, data++)
        crc = crc_table[0][(crc ^ (unsigned char)*data) & 0xff] ^ (crc >> 8);
    return crc;
}

static unsigned int put_crc(unsigned int crc, const char *data, Py_ssize_t size) {
    if (crc_table[0][1] == 0)
        make_crc_table();
    return continued_crc(crc, data, size);
}

/* One value in its canonical form: a letter and what `data` points to. */
struct key {
    char letter;
    const char *data;
    Py_ssize_t size;
    char number[KEY_NUMBER_BYTES_MAX]; /* filled from its end */
};

/* Put a number in front of `at`. */
static char *put_digits(char *at, unsigned long long number) {
    do
        *--at = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    return at;
}

/* A whole number in decimal digits, which end where `room` ends; `size` is told how many. */
static char *decimal_digits(long long whole, char *room, Py_ssize_t *size) {
    char *at = room + KEY_NUMBER_BYTES_MAX;
    at = put_digits(at, whole < 0 ? 0ull - (unsigned long long)whole : (unsigned long long)whole);
    if (whole < 0)
        *--at = '-';
    *size = room + KEY_NUMBER_BYTES_MAX - at;
    return at;
}

static int key_of_number(struct key *key, char *begin) {
    key->letter = 'n';
    key->data = begin;
    key->size = key->number + KEY_NUMBER_BYTES_MAX - begin;
    return 1;
}

static int key_of_int(struct key *key, long long whole) {
    key->letter = 'n';
    key->data = decimal_digits(whole, key->number, &key->size);
    return 1;
}

static int key_of_text(struct key *key, char letter, const char *text, Py_ssize_t size) {
    key->letter = letter;
    key->data = text;
    key->size = size;
    return 1;
}

/* A fraction, as its numerator and a power of two; 0 if that has more than 64 bits. */
static int key_of_float(struct key *key, double real) {
    if (isnan(real))
        return key_of_text(key, 'n', "?", 1);
    if (isinf(real))
        return key_of_text(key, 'n', real > 0 ? "+inf" : "-inf", 4);
    if (real == floor(real))
        return fabs(real) < WHOLE_MAX ? key_of_int(key, (long long)real) : 0;
    int exponent;
    long long numerator = (long long)ldexp(frexp(real, &exponent), DBL_MANT_DIG);
    int bits = DBL_MANT_DIG - exponent; /* real = numerator / 2 ** bits */
    for (; numerator % 2 == 0; numerator /= 2)
        bits--;
    if (bits > DENOMINATOR_BITS_MAX)
        return 0;
    char *at = put_digits(key->number + KEY_NUMBER_BYTES_MAX, 1ull << bits);
    *--at = '/';
    at = put_digits(at, (unsigned long long)(numerator < 0 ? -numerator : numerator));
    if (numerator < 0)
        *--at = '-';
    return key_of_number(key, at);
}

/* 0 for what is not plain. */
static int plain_key(PyObject *value, struct key *key) {
    if (PyUnicode_CheckExact(value)) {
        Py_ssize_t size = 0;
        const char *text = utf8_of(value, &size);
        if (text == NULL)
            PyErr_Clear(); /* a lone surrogate */
        return text != NULL && size <= KEY_BYTES_MAX && key_of_text(key, 's', text, size);
    }
    if (PyLong_CheckExact(value)) {
        int overflow;
        long long whole = PyLong_AsLongLongAndOverflow(value, &overflow);
        return !overflow && key_of_int(key, whole);
    }
    if (PyFloat_CheckExact(value))
        return key_of_float(key, PyFloat_AS_DOUBLE(value));
    if (PyBytes_CheckExact(value)) {
        Py_ssize_t size = PyBytes_GET_SIZE(value);
        return size <= KEY_BYTES_MAX && key_of_text(key, 'b', PyBytes_AS_STRING(value), size);
    }
    if (value == Py_True || value == Py_False)
        return key_of_int(key, value == Py_True);
    return value == Py_None && key_of_text(key, '0', "", 0);
}

static unsigned int put_key(unsigned int crc, const struct key *key) {
    return put_crc(put_crc(crc, &key->letter, 1), key->data, key->size);
}

/* A value behind its length, as hashing._framed has it. */
static unsigned int put_framed(unsigned int crc, const struct key *key) {
    unsigned int framed = (unsigned int)key->size + 1;
    char head[] = {(char)(framed >> 24), (char)(framed >> 16), (char)(framed >> 8), (char)framed,
                   key->letter};
    return put_crc(put_crc(crc, head, sizeof head), key->data, key->size);
}

/* Which of `slots` ranges a key falls into, by the checksum of its canonical form. */
static Py_ssize_t slot_of(unsigned int crc, Py_ssize_t slots) {
    unsigned int hashed = (crc ^ 0xffffffffu) * HASH_SPREAD;
    return (Py_ssize_t)(((unsigned long long)hashed * (unsigned long long)slots) >> HASH_BITS);
}

#define EMPTY_CRC 0xffffffffu

/* Which of `slots` ranges the values fall into behind what `crc` has already; -1 if one of them is
   not plain. */
static Py_ssize_t slot_behind(unsigned int crc, PyObject *const *values, Py_ssize_t number,
                              Py_ssize_t slots) {
    int is_framed = number > 1 || crc != EMPTY_CRC;
    struct key key;
    for (Py_ssize_t at = 0; at < number; at++) {
        if (!plain_key(values[at], &key))
            return -1;
        crc = is_framed ? put_framed(crc, &key) : put_key(crc, &key);
    }
    return slot_of(crc, slots);
}

static Py_ssize_t slot_of_values(PyObject *const *values, Py_ssize_t number, Py_ssize_t slots) {
    return slot_behind(EMPTY_CRC, values, number, slots);
}

/* The same with a text in front of the values: the second choice of a partial key. */
static Py_ssize_t second_slot_of_values(PyObject *const *values, Py_ssize_t number,
                                        Py_ssize_t slots) {
    static const char text[] = "second choice";
    static unsigned int crc = EMPTY_CRC;
    if (crc == EMPTY_CRC) {
        struct key key;
        key_of_text(&key, 's', text, sizeof text - 1);
        crc = put_framed(EMPTY_CRC, &key);
    }
    return slot_behind(crc, values, number, slots);
}

/* The same of a key: a value, or a tuple of several. */
static Py_ssize_t plain_slot(PyObject *key, int are_several, Py_ssize_t slots) {
    return are_several ? slot_of_values(PySequence_Fast_ITEMS(key), PyTuple_GET_SIZE(key), slots)
                       : slot_of_values(&key, 1, slots);
}

#endif
