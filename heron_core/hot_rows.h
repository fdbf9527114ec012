/* The functions of hot_rows.py that are C when it is compiled: rows of plain values in msgpack. */

#include <Python.h>
#include <stdint.h>
#include <string.h>

#include "hot_buffers.h"
#include "hot_msgpack.h"
#include "hot_path.h"
#include "hot_remembered.h"
#include "hot_text.h"
#include "hot_user.h"

static uint64_t read_number(const unsigned char *from, int bytes) {
    uint64_t number = 0;
    while (bytes-- > 0)
        number = number << 8 | *from++;
    return number;
}

static int is_utf8(const unsigned char *text, Py_ssize_t size) {
    if (is_ascii(text, size))
        return 1;
    PyObject *decoded = PyUnicode_DecodeUTF8((const char *)text, size, NULL);
    if (decoded == NULL) {
        PyErr_Clear();
        return 0;
    }
    Py_DECREF(decoded);
    return 1;
}

/* What the byte at the beginning of a plain value says: the bytes of the number behind it, and
   whether that number is the length of text or of bytes. */
enum { NOT_PLAIN, ALONE, NUMBER, TEXT, BYTES };

static int kind_of(unsigned char head, int *bytes) {
    *bytes = 0;
    if (head <= SMALL_NUMBER_MAX || head >= NEGATIVE_HEAD)
        return ALONE;
    if ((head & SHORT_TEXT_MASK) == SHORT_TEXT_HEAD)
        return TEXT;
    if (head == NIL || head == FALSE_HEAD || head == TRUE_HEAD)
        return ALONE;
    if (head >= TEXT_HEAD && head < TEXT_HEAD + 3) {
        *bytes = 1 << (head - TEXT_HEAD);
        return TEXT;
    }
    if (head >= UNSIGNED_HEAD && head < SIGNED_HEAD + 4) {
        *bytes = 1 << (head < SIGNED_HEAD ? head - UNSIGNED_HEAD : head - SIGNED_HEAD);
        return NUMBER;
    }
    if (head == FLOAT_HEAD) {
        *bytes = 8;
        return NUMBER;
    }
    if (head >= BYTES_HEAD && head < BYTES_HEAD + 3) {
        *bytes = 1 << (head - BYTES_HEAD);
        return BYTES;
    }
    return NOT_PLAIN;
}

/* What is behind the value at `at`, or NULL where no plain value is, or not all of it. */
static const unsigned char *behind_value(const unsigned char *at, const unsigned char *end) {
    int bytes;
    if (at >= end)
        return NULL;
    unsigned char head = *at++;
    int kind = kind_of(head, &bytes);
    if (kind == NOT_PLAIN || end - at < bytes)
        return NULL;
    if (kind == ALONE || kind == NUMBER)
        return at + bytes;
    uint64_t size = bytes ? read_number(at, bytes) : (uint64_t)(head & SHORT_TEXT_BYTES_MAX);
    at += bytes;
    if (size > (uint64_t)(end - at) || (kind == TEXT && !is_utf8(at, (Py_ssize_t)size)))
        return NULL;
    return at + size;
}

/* Where the first row of a body begins that is an array of so many rows, each of them an array of
   at most 15 plain values; -1 for any other body. */
static Py_ssize_t first_plain_row(PyObject *body, Py_ssize_t rows) {
    const unsigned char *begin = (const unsigned char *)PyBytes_AS_STRING(body);
    const unsigned char *end = begin + PyBytes_GET_SIZE(body), *at = begin + ROWS_HEAD_BYTES;
    if (end < at || *begin != ROWS_HEAD || read_number(begin + 1, 4) != (uint64_t)rows)
        return -1;
    for (; rows > 0; rows--) {
        if (at >= end || (*at & ROW_HEAD_MASK) != ROW_HEAD)
            return -1;
        for (int values = *at++ & ~ROW_HEAD_MASK; values > 0; values--)
            if ((at = behind_value(at, end)) == NULL)
                return -1;
    }
    return at == end ? ROWS_HEAD_BYTES : -1;
}

static PyObject *read_text(const unsigned char *text, Py_ssize_t size) {
    return size <= REMEMBERED_BYTES_MAX ? remembered_text(text, size) : new_text(text, size);
}

static PyObject *read_plain_number(unsigned char head, const unsigned char *at, int bytes) {
    uint64_t number = read_number(at, bytes);
    if (head == FLOAT_HEAD) {
        double real;
        memcpy(&real, &number, sizeof real);
        return PyFloat_FromDouble(real);
    }
    if (head < SIGNED_HEAD)
        return PyLong_FromUnsignedLongLong(number);
    int unused = 64 - 8 * bytes; /* its sign is the highest bit of so many bytes */
    return PyLong_FromLongLong((int64_t)(number << unused) >> unused);
}

/* The plain value at `*at`, which is behind it then. */
static PyObject *read_value(const unsigned char **at) {
    int bytes;
    unsigned char head = *(*at)++;
    int kind = kind_of(head, &bytes);
    const unsigned char *from = *at;
    *at += bytes;
    if (kind == ALONE) {
        if (head <= SMALL_NUMBER_MAX || head >= NEGATIVE_HEAD)
            return PyLong_FromLong(head <= SMALL_NUMBER_MAX ? (long)head : (long)head - 0x100);
        PyObject *constant = head == NIL ? Py_None : head == FALSE_HEAD ? Py_False : Py_True;
        Py_INCREF(constant);
        return constant;
    }
    if (kind == NUMBER)
        return read_plain_number(head, from, bytes);
    Py_ssize_t size = bytes ? (Py_ssize_t)read_number(from, bytes) : (head & SHORT_TEXT_BYTES_MAX);
    from = *at;
    *at += size;
    if (kind == TEXT)
        return read_text(from, size);
    return PyBytes_FromStringAndSize((const char *)from, size);
}

/* The short text that a row of a checked body has alone; NULL for any other row, and at the end. */
static const unsigned char *only_text(const unsigned char *row, const unsigned char *end,
                                      Py_ssize_t *size) {
    if (row == end || row[0] != (ROW_HEAD | 1) || (row[1] & SHORT_TEXT_MASK) != SHORT_TEXT_HEAD)
        return NULL;
    *size = row[1] & SHORT_TEXT_BYTES_MAX;
    return *size > REMEMBERED_BYTES_MAX ? NULL : row + 2;
}

/* Ask for what the next two rows are found by. A hash of a body that is gone only asks in vain. */
static void fetch_rows(const unsigned char *row, const unsigned char *end) {
    static const unsigned char *further;
    static uint64_t hash_of_further; /* found by the call for the row before */
    Py_ssize_t size;
    const unsigned char *text = only_text(row, end, &size);
    if (text == NULL || remembered.worth <= 0)
        return;
    fetch_text(row == further ? hash_of_further : hash_of_text(text, size));
    further = text + size;
    if ((text = only_text(further, end, &size)) == NULL)
        return;
    hash_of_further = hash_of_text(text, size);
    fetch_set(hash_of_further);
}

/* The last two tuples of a cursor. The older one is made anew if it is no one else's any more: user
   code's loop holds the newer one until it has the next. */
struct turn {
    PyObject *newer, *older;
};

static int is_nobodys(PyObject *object) {
#ifdef Py_GIL_DISABLED
    return 0;
#else
    return Py_REFCNT(object) == 1;
#endif
}

static void put_item(PyObject *tuple, int at, PyObject *item) {
    PyObject *before = PyTuple_GET_ITEM(tuple, at);
    PyTuple_SET_ITEM(tuple, at, item); /* without a count of references, as of a new tuple */
    Py_XDECREF(before);
}

static int is_plain(PyObject *kind) {
    return PyType_Check(kind) && is_plain_kind((PyTypeObject *)kind);
}

/* A row of no values yet: of a class that `is_plain`, or a list for None. */
static PyObject *new_row(PyObject *kind, Py_ssize_t values) {
    if (kind == Py_None)
        return PyList_New(values);
    PyTypeObject *type = (PyTypeObject *)kind;
    return type == &PyTuple_Type ? PyTuple_New(values) : type->tp_alloc(type, values);
}

/* Whether a row may be filled again, as a new one of that kind and of so many values. */
static int is_as_new(PyObject *row, PyObject *kind, Py_ssize_t values) {
    PyObject *type = kind == Py_None ? (PyObject *)&PyList_Type : kind;
    return is_nobodys(row) && (PyObject *)Py_TYPE(row) == type && Py_SIZE(row) == values;
}

/* The row at `*at` of a body that `first_plain_row` has checked; `*at` is behind it. `before` is the
   row of the tuple that is made anew, or NULL. */
static PyObject *take_row(PyObject *body, Py_ssize_t *at, PyObject *before, PyObject *kind) {
    const unsigned char *begin = (const unsigned char *)PyBytes_AS_STRING(body), *from = begin + *at;
    Py_ssize_t values = *from++ & ~ROW_HEAD_MASK;
    int is_again = before != NULL && is_as_new(before, kind, values);
    PyObject *row = is_again ? Py_NewRef(before) : new_row(kind, values);
    for (Py_ssize_t position = 0; row != NULL && position < values; position++) {
        PyObject *value = read_value(&from), **item = PySequence_Fast_ITEMS(row) + position;
        if (value == NULL) {
            Py_CLEAR(row);
            break;
        }
        Py_XSETREF(*item, value);
    }
#if PY_VERSION_HEX >= 0x030E0000
    if (is_again && row != NULL && kind != Py_None)
        ((PyTupleObject *)row)->ob_hash = -1;
#endif
    *at = from - begin;
    fetch_rows(from, begin + PyBytes_GET_SIZE(body));
    return row;
}

/* The next tuple of a body, as hot_path's made_tuple has it. One whose class `is_plain` is made of
   the one before the last. */
static PyObject *next_tuple(struct turn *turn, int is_plain, PyObject *kind, uint64_t number,
                            PyObject *component, PyObject *stream, PyObject *task, PyObject *created,
                            PyObject *roots, PyObject *body, Py_ssize_t *at, PyObject *values_kind) {
    PyObject *made = turn->older;
    int is_again = is_plain && made != NULL && is_nobodys(made);
    PyObject *before = is_again ? PyTuple_GET_ITEM(made, VALUES_AT) : NULL;
    PyObject *key = PyLong_FromUnsignedLongLong(number);
    PyObject *values = key == NULL ? NULL : take_row(body, at, before, values_kind);
    if (values == NULL) {
        Py_XDECREF(key);
        return NULL;
    }
    if (is_again) {
#if PY_VERSION_HEX >= 0x030E0000
        ((PyTupleObject *)made)->ob_hash = -1;
#endif
        put_item(made, KEY_AT, key);
        if (PyTuple_GET_ITEM(made, TASK_AT) != task || PyTuple_GET_ITEM(made, STREAM_AT) != stream) {
            /* of another message */
            put_item(made, COMPONENT_AT, Py_NewRef(component));
            put_item(made, STREAM_AT, Py_NewRef(stream));
            put_item(made, TASK_AT, Py_NewRef(task));
        }
        put_item(made, ROOTS_AT, Py_NewRef(roots));
        put_item(made, VALUES_AT, values);
    } else {
        made = made_tuple(kind, key, component, stream, task, values, created, roots);
        Py_DECREF(key);
        Py_DECREF(values);
        if (made == NULL)
            return NULL;
        Py_XDECREF(turn->older);
    }
    turn->older = turn->newer;
    turn->newer = made;
    return Py_NewRef(made);
}

/* The tuple that was made last; None before the first. */
static PyObject *newest(struct turn *turn) {
    return Py_NewRef(turn->newer == NULL ? Py_None : turn->newer);
}

static PyObject *end_turn(struct turn *turn) {
    Py_CLEAR(turn->newer);
    Py_CLEAR(turn->older);
    Py_RETURN_NONE;
}

static int is_number(PyObject *key, unsigned long long number) {
    if (!PyLong_CheckExact(key))
        return 0;
    unsigned long long value = PyLong_AsUnsignedLongLong(key);
    if (value == (unsigned long long)-1 && PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
    }
    return value == number;
}

/* A number of a list of 64-bit (or 32-bit) ones. */
static uint64_t id_at(PyObject *numbers, Py_ssize_t index) {
    uint64_t number;
    memcpy(&number, PyBytes_AS_STRING(numbers) + 8 * index, sizeof number);
    return number;
}

static uint32_t size_at(PyObject *sizes, Py_ssize_t index) {
    uint32_t size;
    memcpy(&size, PyBytes_AS_STRING(sizes) + 4 * index, sizeof size);
    return size;
}

/* Take the first items out of a list, which keeps its memory: it is filled again at once. */
static void drop_first(PyObject *list, Py_ssize_t items) {
    if (items != PyList_GET_SIZE(list) || items != 1) {
        if (PyList_SetSlice(list, 0, items, NULL) < 0)
            PyErr_Clear(); /* a list of the right type has no reason to refuse */
        return;
    }
    PyObject *only = PyList_GET_ITEM(list, 0);
    Py_SET_SIZE(list, 0);
    Py_DECREF(only);
}

/* --- the current tuple of a user's object --- */

/* The list of one tuple that a pystorm bolt has as `_current_tups`. */
struct current {
    PyObject *list;
    struct seen seen; /* the user's object, when that list was in its place */
    int acks;         /* its `auto_ack` then */
};

static struct attribute current_tuples = {.text = "_current_tups"}, auto_ack = {.text = "auto_ack"};

/* Whether nothing but the user's object and this have the list. */
static int is_theirs(const struct current *current) {
#ifdef Py_GIL_DISABLED
    return 0;
#else
    return current->list != NULL && Py_REFCNT(current->list) == 2
        && PyList_GET_SIZE(current->list) == 1;
#endif
}

/* Whether that list is still in its place, and nothing else has it, so that it may have another. */
static int is_free(const struct current *current, PyObject *user) {
    if (!is_theirs(current))
        return 0;
    if (is_as_seen(&current->seen, user))
        return 1;
    PyObject *found = attribute_of(user, &current_tuples);
    if (found == NULL)
        PyErr_Clear(); /* it was deleted, and is set again */
    int is_there = found == current->list;
    Py_XDECREF(found);
    return is_there && is_theirs(current);
}

/* The user's current tuples are this one alone; -1 with an exception. */
static int make_current(struct current *current, PyObject *user, PyObject *tuple) {
    if (is_free(current, user))
        return PyList_SetItem(current->list, 0, Py_NewRef(tuple));
    PyObject *list = PyList_New(1), *name = NULL;
    current->seen.of_class = 0;
    if (list == NULL)
        return -1;
    PyList_SET_ITEM(list, 0, Py_NewRef(tuple));
    Py_XSETREF(current->list, list);
    if ((name = name_of(&current_tuples)) == NULL)
        return -1;
    return PyObject_SetAttr(user, name, list);
}

/* Whether the user's object has its tuples acked when they are processed; -1 with an exception. */
static int acks_by_itself(struct current *current, PyObject *user) {
    if (is_as_seen(&current->seen, user))
        return current->acks;
    current->seen.of_class = 0;
    PyObject *found = attribute_of(user, &auto_ack), *list = NULL;
    int acks = found == NULL ? -1 : PyObject_IsTrue(found);
    if (acks >= 0 && PyBool_Check(found) && (list = attribute_of(user, &current_tuples)) == NULL)
        PyErr_Clear();
    if (list != NULL && list == current->list && auto_ack.version == current_tuples.version) {
        current->acks = acks;
        see(&current->seen, user, &auto_ack);
    }
    Py_XDECREF(list);
    Py_XDECREF(found);
    return acks;
}

/* What `append` of a list is in C. */
static PyCFunction append_of_lists(void) {
    static PyCFunction known;
    PyObject *list = known == NULL ? PyList_New(0) : NULL;
    PyObject *append = list == NULL ? NULL : PyObject_GetAttrString(list, "append");
    if (append != NULL && PyCFunction_Check(append))
        known = PyCFunction_GET_FUNCTION(append);
    Py_XDECREF(append);
    Py_XDECREF(list);
    PyErr_Clear();
    return known;
}

/* Call an ack with a tuple, which nearly always is the `append` of a list; -1 with an exception. */
static int call_ack(PyObject *ack, PyObject *tuple) {
    if (PyCFunction_CheckExact(ack) && PyCFunction_GET_FUNCTION(ack) == append_of_lists()
        && PyList_CheckExact(PyCFunction_GET_SELF(ack)))
        return PyList_Append(PyCFunction_GET_SELF(ack), tuple);
    PyObject *result = PyObject_CallOneArg(ack, tuple);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

static void end_current(struct current *current) {
    Py_CLEAR(current->list);
}

/* --- acks of tuples in their turn --- */

/* Whether nothing but the list has an item. */
static int is_unused(PyObject *list, Py_ssize_t at) {
    return is_nobodys(PyList_GET_ITEM(list, at));
}

/* Whether a tuple of that key is the next one of a run to be settled. */
static int is_next(const struct run *run, PyObject *key) {
    return !run->is_whole && run->settled < run->tuples
        && is_number(key, run->first_key + (uint64_t)run->settled);
}

/* Settle the next tuple of a run; -1 with MemoryError, and nothing has changed. */
static int settle_next(struct run *run, struct numbers *pairs) {
    if (run->settled + 1 == run->tuples && put_pair(pairs, run->root, run->value) < 0)
        return -1;
    run->settled++;
    return 0;
}

/* Settle the tuple that was made last, which is at `position` of its run, or has no root (None), if
   its ack is all that there is: 1, or 0 if it is not so, or -1 with MemoryError. */
static int settle_newest(PyObject *acked, struct turn *turn, PyObject *state, Py_ssize_t position,
                         struct numbers *pairs) {
    if (PyList_GET_SIZE(acked) != 1 || PyList_GET_ITEM(acked, 0) != turn->newer)
        return 0;
    if (state != Py_None) {
        struct run *run = RUN(state);
        if (run->is_whole || run->settled != position)
            return 0;
        if (settle_next(run, pairs) < 0)
            return -1;
    }
    drop_first(acked, 1);
    return 1;
}
