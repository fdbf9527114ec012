/* The first bytes of msgpack's plain values, as hot_buffers.h writes and hot_rows.h reads them. */

#ifndef HOT_MSGPACK_H
#define HOT_MSGPACK_H

enum {
    ROW_VALUES_MAX = 15,      /* as many as an array's one-byte head can say */
    ROW_HEAD = 0x90,          /* and so many values */
    ROW_HEAD_MASK = 0xf0,
    SHORT_TEXT_HEAD = 0xa0,   /* and so many bytes */
    SHORT_TEXT_MASK = 0xe0,
    SHORT_TEXT_BYTES_MAX = 31,
    NIL = 0xc0,
    FALSE_HEAD = 0xc2,
    TRUE_HEAD = 0xc3,
    BYTES_HEAD = 0xc4,        /* these three: and the size in 1, 2 or 4 bytes with the heads after */
    TEXT_HEAD = 0xd9,
    FLOAT_HEAD = 0xcb,
    UNSIGNED_HEAD = 0xcc,     /* these two: 1, 2, 4 or 8 bytes */
    SIGNED_HEAD = 0xd0,
    ROWS_HEAD = 0xdd,         /* an array whose length has 4 bytes: what wire/values.array_of writes */
    ROWS_HEAD_BYTES = 5,
    SMALL_NUMBER_MAX = 0x7f,  /* a number that is its own head, */
    SMALL_NUMBER_MIN = -32,   /* and the first of those from 0xe0 on */
    NEGATIVE_HEAD = 0xe0,
    NUMBER_BYTES_MAX = 9,     /* a head and 64 bits */
};

#endif
