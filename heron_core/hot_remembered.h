/* Short texts that came before, for hot_rows.h: a word that comes again is the object of before.

   Such an object has its hash already, and is the key of the dict that user code counts it in: a
   lookup compares two addresses, and one object of each word is in the caches instead of two. A set is
   one line of a processor's cache: as many texts as fit, and a byte of the hash of each, so that a
   text which is not there costs one line. Where most texts are new, none is looked for. */

#ifndef HOT_REMEMBERED_H
#define HOT_REMEMBERED_H

#include <Python.h>
#include <stdint.h>
#include <string.h>

#include "hot_text.h"

enum {
    REMEMBERED_BYTES_MAX = 24, /* longer texts are seldom words that come again */
    WAYS = 7,                  /* texts of a set */
    SETS = 2048,               /* a power of two; with all its texts some 1.1 MB */
    TAG_SHIFT = 56,            /* of a hash whose lowest bits are the number of the set */
    FOUND_GAIN = 3,            /* with less than one text in four found the table costs more than it saves, */
    WORTH_MAX = 4 * WAYS * SETS,    /* but at first it has to be filled */
    PASSED_OVER = 32 * WAYS * SETS, /* texts until the next try: a try is one ninth of all then */
};

struct set {
    PyObject *texts[WAYS];
    uint8_t tags[WAYS]; /* 0: none is there */
    uint8_t oldest;
};

static const uint64_t EACH_BYTE = 0x0101010101010101ull;
static const uint64_t LOWER_BITS = 0x7f7f7f7f7f7f7f7full; /* all but the highest of each byte */
static const uint64_t EACH_TAG = 0x0080808080808080ull;   /* the highest of each of seven bytes */
static const uint64_t LAST_PLACE = 0x0080000000000000ull; /* and of the seventh */

static struct {
    struct set sets[SETS];
    int worth;       /* rises with each text that is found, falls with any other */
    int passed_over; /* at zero: so many texts more are made without a look */
} remembered = {.worth = WORTH_MAX, .passed_over = PASSED_OVER};

static inline uint64_t eight_of(const unsigned char *text) {
    uint64_t eight;
    memcpy(&eight, text, sizeof eight);
    return eight;
}

static inline uint64_t four_of(const unsigned char *text) {
    uint32_t four;
    memcpy(&four, text, sizeof four);
    return four;
}

/* The bytes of a short text in three numbers; of texts of the same size they differ if those do. */
struct bytes_of_text {
    uint64_t first, middle, last;
};

static inline struct bytes_of_text bytes_of(const unsigned char *text, Py_ssize_t size) {
    struct bytes_of_text bytes = {0, 0, 0};
    if (size > 8) {
        bytes.first = eight_of(text);
        bytes.last = eight_of(text + size - 8);
        bytes.middle = size > 16 ? eight_of(text + 8) : 0;
    } else if (size >= 4) {
        bytes.first = four_of(text) | four_of(text + size - 4) << 32;
    } else if (size > 0) {
        bytes.first = text[0] | (uint64_t)text[size >> 1] << 8 | (uint64_t)text[size - 1] << 16;
    }
    return bytes;
}

static inline uint64_t hash_of(const struct bytes_of_text *bytes, Py_ssize_t size) {
    uint64_t hash = (bytes->first ^ (uint64_t)size) * 0x9e3779b97f4a7c15ull;
    hash = ((hash ^ hash >> 32) ^ bytes->last) * 0xd6e8feb86659fd93ull;
    hash = ((hash ^ hash >> 32) ^ bytes->middle) * 0x9e3779b97f4a7c15ull;
    return hash ^ hash >> 32;
}

static inline int has_bytes(PyObject *text, const struct bytes_of_text *bytes, Py_ssize_t size) {
    if (PyUnicode_GET_LENGTH(text) != size)
        return 0;
    struct bytes_of_text its = bytes_of(PyUnicode_1BYTE_DATA(text), size);
    return its.first == bytes->first && its.last == bytes->last && its.middle == bytes->middle;
}

/* Put a text in the place of the one that is longest in a set. */
static void remember(struct set *set, uint8_t tag, PyObject *text) {
    int place = set->oldest;
    PyObject *before = set->texts[place];
    set->texts[place] = Py_NewRef(text);
    set->tags[place] = tag;
    set->oldest = place + 1 < WAYS ? (uint8_t)(place + 1) : 0;
    Py_XDECREF(before);
}

/* Whether to make the next text without a look: most of those of late were new. */
static inline int is_passed_over(void) {
    if (remembered.worth > 0)
        return 0;
    if (remembered.passed_over-- > 0)
        return 1;
    remembered.passed_over = PASSED_OVER;
    remembered.worth = WORTH_MAX;
    return 0;
}

static inline uint8_t tag_of(uint64_t hash) {
    uint8_t tag = (uint8_t)(hash >> TAG_SHIFT);
    return tag ? tag : 1;
}

/* The tags of a set that are equal to one: the highest bit of each such byte. Without a branch, for
   `fetch_text`. */
static inline uint64_t places_of(const struct set *set, uint8_t tag) {
    uint64_t others = eight_of(set->tags) ^ EACH_BYTE * tag; /* little endian, as hot_keys.h */
    return ~(((others & LOWER_BITS) + LOWER_BITS) | others) & EACH_TAG;
}

/* A short text whose bytes were checked; one of ASCII that came before is the object of before. */
static PyObject *remembered_text(const unsigned char *text, Py_ssize_t size) {
    if (is_passed_over())
        return new_text(text, size);
    struct bytes_of_text bytes = bytes_of(text, size);
    uint64_t hash = hash_of(&bytes, size);
    uint8_t tag = tag_of(hash);
    struct set *set = &remembered.sets[hash & (SETS - 1)];
    for (uint64_t places = places_of(set, tag); places != 0; places &= places - 1) {
        PyObject *known = set->texts[__builtin_ctzll(places) / 8];
        if (has_bytes(known, &bytes, size)) {
            remembered.worth += remembered.worth < WORTH_MAX ? FOUND_GAIN : 0;
            return Py_NewRef(known);
        }
    }
    PyObject *made = new_text(text, size);
    if (made != NULL && PyUnicode_IS_COMPACT_ASCII(made)) {
        remembered.worth--;
        remember(set, tag, made);
    }
    return made;
}

/* --- what is read next: a counter's words are more than the nearest caches hold ------------------

   A set, and the object that it leads to, are two waits for memory. They are asked for while user
   code runs: the set two rows ahead, the object one row ahead, when the set has come. */

static inline uint64_t hash_of_text(const unsigned char *text, Py_ssize_t size) {
    struct bytes_of_text bytes = bytes_of(text, size);
    return hash_of(&bytes, size);
}

/* gcc 12 takes a function that only asks for memory for one without an effect, and leaves it out. */
static inline void fetch(uintptr_t address) {
    __asm__ volatile("" : : "r"(address));
    __builtin_prefetch((const void *)address);
}

static inline void fetch_set(uint64_t hash) {
    fetch((uintptr_t)&remembered.sets[hash & (SETS - 1)]);
}

static inline void fetch_text(uint64_t hash) {
    const struct set *set = &remembered.sets[hash & (SETS - 1)];
    uint64_t places = places_of(set, tag_of(hash)) | LAST_PLACE; /* without a branch, if in vain */
    uintptr_t known = (uintptr_t)set->texts[__builtin_ctzll(places) / 8];
    fetch(known);
    fetch(known + sizeof(PyASCIIObject));
}

#endif
