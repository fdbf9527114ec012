/* The functions of hot_emit.py that are C when it is compiled. */

#include <Python.h>
#include <stddef.h>

#include "hot_buffers.h"
#include "hot_keys.h"
#include "hot_path.h"
#include "hot_pending.h"
#include "hot_user.h"

/* --- emit ----------------------------------------------------------------------------------------

   A type that is called without a tuple of arguments. What it cannot do it leaves to `general`, as
   it was given, before anything has changed. */

enum {
    PARAMETERS = 5,
    TUP = 0,
    DIRECT_TASK = 3,
    NEED_TASK_IDS = 4,
};

struct emit {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *outbox, *general, *pack, *next_edge;
    PyObject *unnamed;      /* what its stream is called where it is not named */
    PyObject *picks;        /* what chooses the buffers of a tuple, for each consumer */
    PyObject *user, *thread, *main_thread;
    PyObject *next_root, *pending, *done_at_once, *inits; /* of a spout */
    PyObject *emits;        /* of a stream with several buffers: a list of how often it was called */
    PyObject *direct;       /* and what has the buffer of a task that is named; None if one is refused */
    PyObject *by_stream;    /* or the emits of other streams by their names: it has none of its own */
    Py_ssize_t width, most, overhead;
    Py_ssize_t position;    /* of the field that is the key of its only pick; -1: there are several */
    unsigned long ident;    /* of the main thread, where `thread` is threading.get_ident */
    int asks_python;        /* whether `thread` is something else */
    int packs_plain;        /* whether `pack` is msgpack's, and not the topology's own serialiser */
    int stream, has_several, wants_direct, tracked, is_spout, is_shared;
    struct seen seen;       /* the user's object, when it had these: */
    PyObject *seen_current; /* its `_current_tups`, borrowed from it */
    int seen_anchors;       /* its `auto_anchor` */
};

/* Of a pick, which is a tuple. */
enum {
    POSITIONS, /* of the fields of a key */
    KEYED,     /* what has the buffer of a key, or None */
    BUFFERS,   /* where plain keys are hashed: a buffer for each slot, or None */
    SENT,      /* of a partial key grouping: how many tuples went to each slot, or None */
    TURNS,     /* or an iterator over buffers, or None */
    ALL,       /* or a list of all buffers that a tuple has, or None */
    CHOOSE,    /* of several: what chooses the buffers of any tuple; None if there is but one pick */
};

#define ITEM(pick, at) PyTuple_GET_ITEM(pick, at)

static PyObject *parameters[2][PARAMETERS]; /* a bolt's and a spout's, interned */
/* What is read of a pystorm bolt, too. */
static struct attribute auto_anchor = {.text = "auto_anchor"},
                        current_tuples = {.text = "_current_tups"};

static int know_parameters(void) {
    static const char *const names[2][PARAMETERS] = {
        {"tup", "stream", "anchors", "direct_task", "need_task_ids"},
        {"tup", "tup_id", "stream", "direct_task", "need_task_ids"},
    };
    for (int kind = 0; kind < 2; kind++)
        for (int at = 0; at < PARAMETERS; at++)
            if ((parameters[kind][at] = PyUnicode_InternFromString(names[kind][at])) == NULL)
                return -1;
    return 0;
}

/* Where a parameter of that name is; PARAMETERS if there is none. */
static int parameter(PyObject *const *names, PyObject *name) {
    for (int at = 0; at < PARAMETERS; at++)
        if (names[at] == name)
            return at;
    for (int at = 0; at < PARAMETERS; at++)
        if (PyUnicode_Compare(names[at], name) == 0)
            return at;
    return PARAMETERS;
}

/* 0 if the arguments do not fit: `general`, whose parameters are the same, says so. */
static int take_arguments(int is_spout, PyObject *const *arguments, Py_ssize_t number,
                          PyObject *names, PyObject **given) {
    if (number > PARAMETERS)
        return 0;
    int present = (1 << number) - 1;
    for (Py_ssize_t at = 0; at < number; at++)
        given[at] = arguments[at];
    for (Py_ssize_t at = 0; names != NULL && at < PyTuple_GET_SIZE(names); at++) {
        int place = parameter(parameters[is_spout], PyTuple_GET_ITEM(names, at));
        if (place == PARAMETERS || present & 1 << place)
            return 0;
        present |= 1 << place;
        given[place] = arguments[number + at];
    }
    return present & 1 << TUP;
}

static PyObject *left_to_general(struct emit *emit, PyObject *const *given) {
    return PyObject_Vectorcall(emit->general, given, PARAMETERS, NULL);
}

/* What C functions return of which general may do what they could not. */
enum outcome { RAISED = -1, LEFT = 0, DONE = 1 };

/* After an exception: `general` says it in its own way; but no interrupt is lost. */
static enum outcome left_by_exception(void) {
    if (!PyErr_ExceptionMatches(PyExc_Exception))
        return RAISED;
    PyErr_Clear();
    return LEFT;
}

struct row {
    unsigned char plain[PLAIN_BYTES_MAX];
    const void *data; /* `plain`, or that of `bytes` */
    Py_ssize_t size;
    PyObject *bytes;    /* by the packer; NULL if it is not needed */
};

static enum outcome pack_row(struct emit *emit, PyObject *tup, struct row *row) {
    if (!PyList_CheckExact(tup) && !PyTuple_CheckExact(tup))
        return LEFT;
    if (PySequence_Fast_GET_SIZE(tup) != emit->width)
        return LEFT;
    row->data = row->plain;
    row->size = -1;
    if (emit->packs_plain)
        row->size = plain_row(row->plain, PySequence_Fast_ITEMS(tup), emit->width);
    if (row->size < 0) {
        PyObject *values = PySequence_List(tup);
        row->bytes = values == NULL ? NULL : PyObject_CallOneArg(emit->pack, values);
        Py_XDECREF(values);
        if (row->bytes == NULL)
            return left_by_exception();
        if (!PyBytes_CheckExact(row->bytes) || PySequence_Fast_GET_SIZE(tup) != emit->width)
            return LEFT;
        row->data = PyBytes_AS_STRING(row->bytes);
        row->size = PyBytes_GET_SIZE(row->bytes);
    }
    return row->size > emit->most ? LEFT : DONE;
}

/* The value at a position, borrowed. */
static PyObject *value_at(PyObject *tup, Py_ssize_t position) {
    if (position >= PySequence_Fast_GET_SIZE(tup)) {
        PyErr_SetString(PyExc_IndexError, "a tuple that became shorter while it was emitted");
        return NULL;
    }
    return PySequence_Fast_GET_ITEM(tup, position);
}

/* A field of the key, borrowed. */
static PyObject *field_of(PyObject *pick, PyObject *tup, Py_ssize_t at) {
    return value_at(tup, PyLong_AsSsize_t(PyTuple_GET_ITEM(ITEM(pick, POSITIONS), at)));
}

/* The key of a tuple: a value, or a tuple of several. */
static PyObject *whole_key(PyObject *pick, PyObject *tup) {
    Py_ssize_t fields = PyTuple_GET_SIZE(ITEM(pick, POSITIONS));
    if (fields == 1)
        return Py_XNewRef(field_of(pick, tup, 0));
    PyObject *key = PyTuple_New(fields);
    for (Py_ssize_t at = 0; key != NULL && at < fields; at++) {
        PyObject *value = field_of(pick, tup, at);
        if (value == NULL)
            Py_CLEAR(key);
        else
            PyTuple_SET_ITEM(key, at, Py_NewRef(value));
    }
    return key;
}

/* As ByPartialKey.less_used: the slot that was sent less of the two of a key; -1 with an exception. */
static Py_ssize_t less_used(PyObject *sent, PyObject *const *values, Py_ssize_t fields,
                            Py_ssize_t slot, Py_ssize_t slots) {
    Py_ssize_t other = second_slot_of_values(values, fields, slots);
    if (slot >= PyList_GET_SIZE(sent) || other >= PyList_GET_SIZE(sent)) {
        PyErr_SetString(PyExc_IndexError, "a slot that was never sent anything");
        return -1;
    }
    Py_ssize_t used = PyLong_AsSsize_t(PyList_GET_ITEM(sent, slot));
    Py_ssize_t others = PyLong_AsSsize_t(PyList_GET_ITEM(sent, other));
    PyObject *now = PyLong_FromSsize_t((others < used ? others : used) + 1);
    slot = others < used ? other : slot;
    return now == NULL || PyList_SetItem(sent, slot, now) < 0 ? -1 : slot;
}

/* The buffer of a plain key, borrowed; NULL for other keys, or with an exception. */
static PyObject *buffer_of_plain_key(PyObject *pick, PyObject *tup) {
    Py_ssize_t fields = PyTuple_GET_SIZE(ITEM(pick, POSITIONS));
    PyObject *buffers = ITEM(pick, BUFFERS), *sent = ITEM(pick, SENT);
    if (buffers == Py_None)
        return NULL;
    PyObject *values[fields];
    for (Py_ssize_t at = 0; at < fields; at++)
        if ((values[at] = field_of(pick, tup, at)) == NULL)
            return NULL;
    Py_ssize_t slots = PyList_GET_SIZE(buffers), slot = slot_of_values(values, fields, slots);
    if (slot >= 0 && sent != Py_None)
        slot = less_used(sent, values, fields, slot, slots);
    return slot >= 0 && slot < slots ? PyList_GET_ITEM(buffers, slot) : NULL;
}

/* The same where the key is one value that is at `position`. */
static PyObject *buffer_of_plain_value(PyObject *pick, PyObject *tup, Py_ssize_t position) {
    PyObject *buffers = ITEM(pick, BUFFERS), *value = value_at(tup, position);
    if (value == NULL)
        return NULL;
    Py_ssize_t slots = PyList_GET_SIZE(buffers), slot = slot_of_values(&value, 1, slots);
    return slot >= 0 && slot < slots ? PyList_GET_ITEM(buffers, slot) : NULL;
}

/* The buffer of a key; a new reference, or NULL with an exception. */
static PyObject *buffer_of_key(PyObject *pick, PyObject *tup, Py_ssize_t position) {
    PyObject *buffer = position < 0 ? buffer_of_plain_key(pick, tup)
                                    : buffer_of_plain_value(pick, tup, position);
    if (buffer != NULL || PyErr_Occurred())
        return Py_XNewRef(buffer);
    PyObject *key = whole_key(pick, tup);
    if (key == NULL)
        return NULL;
    buffer = PyObject_GetItem(ITEM(pick, KEYED), key);
    Py_DECREF(key);
    return buffer;
}

/* The buffers of a tuple, as new references. */
struct chosen {
    PyObject **items;
    Py_ssize_t used, room;
    PyObject *few[FEW_TARGETS];
};

static void begin_chosen(struct chosen *chosen) {
    chosen->items = chosen->few;
    chosen->used = 0;
    chosen->room = FEW_TARGETS;
}

static void end_chosen(struct chosen *chosen) {
    while (chosen->used > 0)
        Py_DECREF(chosen->items[--chosen->used]);
    if (chosen->items != chosen->few)
        PyMem_RawFree(chosen->items);
}

/* Twice the room; -1 with MemoryError. */
static int grow_chosen(struct chosen *chosen) {
    PyObject **items = PyMem_RawMalloc(2 * (size_t)chosen->room * sizeof *items);
    if (items == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    memcpy(items, chosen->items, (size_t)chosen->used * sizeof *items);
    if (chosen->items != chosen->few)
        PyMem_RawFree(chosen->items);
    chosen->items = items;
    chosen->room *= 2;
    return 0;
}

/* Add a buffer, whose reference is taken; NULL stands for an exception. */
static inline enum outcome add_buffer(struct chosen *chosen, PyObject *buffer) {
    if (buffer == NULL)
        return PyErr_Occurred() ? left_by_exception() : LEFT;
    if (chosen->used == chosen->room && grow_chosen(chosen) < 0) {
        Py_DECREF(buffer);
        return RAISED;
    }
    chosen->items[chosen->used++] = buffer;
    return is_buffer(buffer) ? DONE : LEFT;
}

static enum outcome add_buffers(struct chosen *chosen, PyObject *buffers) {
    enum outcome outcome = DONE;
    for (Py_ssize_t at = 0; outcome == DONE && at < PySequence_Fast_GET_SIZE(buffers); at++)
        outcome = add_buffer(chosen, Py_NewRef(PySequence_Fast_GET_ITEM(buffers, at)));
    return outcome;
}

/* What a grouping in Python chooses. */
static enum outcome add_by_grouping(struct chosen *chosen, PyObject *choose, PyObject *tup) {
    PyObject *values = PyList_CheckExact(tup) ? Py_NewRef(tup) : PySequence_List(tup);
    PyObject *found = values == NULL ? NULL : PyObject_CallOneArg(choose, values);
    PyObject *buffers = found == NULL ? NULL : PySequence_Fast(found, "no buffers");
    enum outcome outcome = buffers == NULL ? left_by_exception() : add_buffers(chosen, buffers);
    Py_XDECREF(buffers);
    Py_XDECREF(found);
    Py_XDECREF(values);
    return outcome;
}

/* One of several picks; in Python where C does not know the buffer. */
static enum outcome add_picked(struct chosen *chosen, PyObject *pick, PyObject *tup) {
    if (ITEM(pick, ALL) != Py_None)
        return add_buffers(chosen, ITEM(pick, ALL));
    if (ITEM(pick, TURNS) != Py_None)
        return add_buffer(chosen, PyIter_Next(ITEM(pick, TURNS)));
    PyObject *buffer = buffer_of_plain_key(pick, tup);
    if (buffer != NULL || PyErr_Occurred())
        return add_buffer(chosen, Py_XNewRef(buffer));
    return add_by_grouping(chosen, ITEM(pick, CHOOSE), tup);
}

/* Those of a tuple that may have several. */
static enum outcome choose_several(struct emit *emit, PyObject *tup, PyObject *task,
                                   struct chosen *chosen) {
    PyObject *named = NULL;
    if (task != Py_None && (named = PyObject_GetItem(emit->direct, task)) == NULL)
        return left_by_exception();
    enum outcome outcome = DONE;
    for (Py_ssize_t at = 0; outcome == DONE && at < PyTuple_GET_SIZE(emit->picks); at++)
        outcome = add_picked(chosen, PyTuple_GET_ITEM(emit->picks, at), tup);
    if (named != NULL && outcome == DONE)
        return add_buffer(chosen, named);
    Py_XDECREF(named);
    return outcome;
}

/* The buffers of a tuple. They are taken last: a tuple that is left to `general` does not skip one. */
static inline enum outcome choose_buffers(struct emit *emit, PyObject *const *given,
                                          struct chosen *chosen) {
    if (emit->has_several)
        return choose_several(emit, given[TUP], given[DIRECT_TASK], chosen);
    PyObject *pick = PyTuple_GET_ITEM(emit->picks, 0);
    return add_buffer(chosen, ITEM(pick, KEYED) == Py_None ? PyIter_Next(ITEM(pick, TURNS))
                                                           : buffer_of_key(pick, given[TUP], emit->position));
}

/* The room of an outbox is its first field, which `is_first` holds. */
static PyObject *make_room(struct emit *emit, Py_ssize_t bytes, PyObject *need,
                           const struct chosen *chosen) {
    Py_ssize_t *room = (Py_ssize_t *)((char *)emit->outbox + sizeof(PyObject));
    if ((*room -= (bytes + emit->overhead) * chosen->used) < 0) {
        PyObject *flushed = PyObject_CallMethod(emit->outbox, "flush", NULL);
        if (flushed == NULL)
            return NULL;
        Py_DECREF(flushed);
    }
    int is_needed = need == Py_False ? 0 : PyObject_IsTrue(need);
    if (is_needed <= 0)
        return is_needed < 0 ? NULL : Py_NewRef(Py_None);
    static PyObject *name;
    if (name == NULL && (name = PyUnicode_InternFromString("destination")) == NULL)
        return NULL;
    PyObject *task = PyObject_GetAttr(chosen->items[0], name);
    PyObject *tasks = task == NULL ? NULL : PyList_New(1);
    if (tasks == NULL)
        Py_XDECREF(task);
    else
        PyList_SET_ITEM(tasks, 0, task);
    return tasks;
}

/* --- several buffers --- */

/* Whether one of the buffers has others that conflict with it; -1 with an exception. */
static int has_conflicts(const struct chosen *chosen) {
    static PyObject *name;
    if (name == NULL && (name = PyUnicode_InternFromString("conflicting")) == NULL)
        return -1;
    Py_ssize_t others = 0;
    for (Py_ssize_t at = 0; others == 0 && at < chosen->used; at++) {
        PyObject *conflicting = PyObject_GetAttr(chosen->items[at], name);
        if (conflicting == NULL)
            return -1;
        others = PyObject_Size(conflicting);
        Py_DECREF(conflicting);
    }
    return others < 0 ? -1 : others > 0;
}

/* Send what has to leave before the buffers take a tuple; -1 with an exception. */
static int make_way(struct emit *emit, const struct chosen *chosen) {
    int conflict = has_conflicts(chosen);
    if (conflict <= 0)
        return conflict;
    PyObject *buffers = PyList_New(chosen->used);
    if (buffers == NULL)
        return -1;
    for (Py_ssize_t at = 0; at < chosen->used; at++)
        PyList_SET_ITEM(buffers, at, Py_NewRef(chosen->items[at]));
    PyObject *left = PyObject_CallMethod(emit->outbox, "make_way", "OO", buffers, Py_False);
    Py_DECREF(buffers);
    Py_XDECREF(left);
    return left == NULL ? -1 : 0;
}

/* Put a tuple into its buffers, and count it; `*total` is the xor of its edges. */
static enum outcome put_in_several(struct emit *emit, const struct row *row, uint64_t root,
                                   const struct chosen *chosen, uint64_t *total) {
    struct delivery it = {row->data, row->size, root, emit->next_edge, emit->stream, emit->tracked,
                          !emit->is_spout};
    if (put_in_all(chosen->items, chosen->used, &it, total) < 0)
        return RAISED;
    Py_ssize_t before = PyLong_AsSsize_t(PyList_GET_ITEM(emit->emits, 0));
    PyObject *now = PyLong_FromSsize_t(before + 1);
    return now == NULL || PyList_SetItem(emit->emits, 0, now) < 0 ? RAISED : DONE;
}

/* --- a bolt's --- */

enum { BOLT_STREAM = 1, ANCHORS = 2 };

/* Whether a state has one root, which is not settled. */
static int is_open(PyObject *state) {
    if (is_in_numbers(state))
        return RUN(state)->settled < RUN(state)->tuples;
    return PyList_Check(state) && PyList_GET_SIZE(state) == 2;
}

/* The anchor state of what is emitted, as a new reference, with its root; NULL and 0 for none. */
static enum outcome state_of(struct emit *emit, PyObject *anchors, PyObject **state, uint64_t *root) {
    if (anchors == Py_None || !emit->tracked)
        return DONE;
    if (!PyList_CheckExact(anchors) && !PyTuple_CheckExact(anchors))
        return LEFT;
    if (PySequence_Fast_GET_SIZE(anchors) != 1)
        return PySequence_Fast_GET_SIZE(anchors) ? LEFT : DONE;
    PyObject *roots = roots_of(PySequence_Fast_GET_ITEM(anchors, 0));
    if (roots != NULL && !is_in_numbers(roots))
        roots = as_list(roots);
    if (roots == NULL)
        return left_by_exception();
    if (roots == Py_None) {
        Py_DECREF(roots);
        return DONE;
    }
    *state = roots;
    if (!is_open(roots))
        return LEFT;
    if (is_in_numbers(roots)) {
        *root = RUN(roots)->root;
        return DONE;
    }
    PyObject *first = PyList_GET_ITEM(roots, 0);
    if (!PyLong_CheckExact(first))
        return LEFT;
    return number_of(first, root) < 0 ? left_by_exception() : DONE;
}

/* Draw an edge, and work out what the value of an anchor state that is a list comes to with it. */
static enum outcome anchor(struct emit *emit, PyObject *state, uint64_t *edge, PyObject **value) {
    int was_in_numbers = is_in_numbers(state);
    uint64_t before;
    if (draw_edges(emit->next_edge, edge, 1) < 0)
        return left_by_exception();
    if (was_in_numbers)
        return is_in_numbers(state) && is_open(state) ? DONE : LEFT;
    if (!is_open(state) || number_of(PyList_GET_ITEM(state, 1), &before) < 0)
        return PyErr_Occurred() ? left_by_exception() : LEFT;
    *value = PyLong_FromUnsignedLongLong(before ^ *edge);
    return *value == NULL ? RAISED : DONE;
}

static enum outcome put_anchored(struct emit *emit, const struct row *row, PyObject *state,
                                 uint64_t root, PyObject *buffer) {
    struct contents *to = CONTENTS(buffer);
    struct addition tuple = {.row = row->data, .bytes = row->size, .root = root, .stream = -1};
    PyObject *value = NULL;
    uint64_t edge = 0;
    if (emit->tracked && !goes_on(to, root)) {
        enum outcome outcome = state == NULL ? DONE : anchor(emit, state, &edge, &value);
        if (outcome != DONE)
            return outcome;
        tuple.targets = 1;
        tuple.edges = &edge;
        tuple.begins_run = !to->has_extras;
    }
    if (add_tuple(to, &tuple) < 0) {
        Py_XDECREF(value);
        return RAISED;
    }
    if (value != NULL)
        PyList_SetItem(state, 1, value); /* it has two, and takes over the reference */
    else if (tuple.targets && state != NULL)
        RUN(state)->value ^= edge;
    return DONE;
}

/* As bolt_emit_to_several: the ack of what it is anchored to may be among what leaves before. */
static enum outcome put_anchored_in_several(struct emit *emit, const struct row *row,
                                            PyObject **state, uint64_t root,
                                            const struct chosen *chosen) {
    uint64_t before = 0, total = 0;
    if (make_way(emit, chosen) < 0)
        return RAISED;
    if (*state != NULL && !is_in_numbers(*state) && (*state = as_list(*state)) == NULL)
        return RAISED;
    if (*state != NULL && !is_open(*state))
        Py_CLEAR(*state);
    enum outcome outcome = put_in_several(emit, row, *state == NULL ? 0 : root, chosen, &total);
    if (outcome != DONE || *state == NULL)
        return outcome;
    if (is_in_numbers(*state)) {
        RUN(*state)->value ^= total;
        return DONE;
    }
    if ((*state = as_list(*state)) == NULL || !is_open(*state)
        || number_of(PyList_GET_ITEM(*state, 1), &before) < 0)
        return PyErr_Occurred() ? RAISED : DONE;
    PyObject *value = PyLong_FromUnsignedLongLong(before ^ total);
    return value == NULL || PyList_SetItem(*state, 1, value) < 0 ? RAISED : DONE;
}

static enum outcome put_of_bolt(struct emit *emit, PyObject *const *given, struct row *row,
                                struct chosen *chosen) {
    PyObject *state = NULL;
    uint64_t root = 0;
    enum outcome outcome = pack_row(emit, given[TUP], row);
    if (outcome == DONE)
        outcome = state_of(emit, given[ANCHORS], &state, &root);
    if (outcome == DONE)
        outcome = choose_buffers(emit, given, chosen);
    if (outcome == DONE)
        outcome = emit->has_several ? put_anchored_in_several(emit, row, &state, root, chosen)
                                    : put_anchored(emit, row, state, root, chosen->items[0]);
    Py_XDECREF(state);
    return outcome;
}

/* Whether this is the thread that the emit was made in; -1 with an exception. */
static int is_in_main_thread(struct emit *emit) {
    if (!emit->asks_python)
        return PyThread_get_thread_ident() == emit->ident;
    PyObject *thread = PyObject_CallNoArgs(emit->thread);
    int is_main = thread == NULL ? -1 : PyObject_RichCompareBool(thread, emit->main_thread, Py_EQ);
    Py_XDECREF(thread);
    return is_main;
}

/* The `_current_tups` of pystorm's bolt as a new reference, and whether its emits are anchored to
   them where no anchors are named; NULL with an exception. */
static PyObject *current_of(struct emit *emit, int *anchors) {
    if (is_as_seen(&emit->seen, emit->user)) {
        *anchors = emit->seen_anchors;
        return Py_NewRef(emit->seen_current);
    }
    emit->seen.of_class = 0;
    PyObject *wanted = attribute_of(emit->user, &auto_anchor);
    int is_constant = wanted != NULL && PyBool_Check(wanted);
    *anchors = wanted == NULL ? -1 : PyObject_IsTrue(wanted);
    Py_XDECREF(wanted);
    PyObject *current = *anchors < 0 ? NULL : attribute_of(emit->user, &current_tuples);
    if (current != NULL && is_constant && Py_REFCNT(current) > 1
        && auto_anchor.version == current_tuples.version) {
        emit->seen_current = current;
        emit->seen_anchors = *anchors;
        see(&emit->seen, emit->user, &auto_anchor);
    }
    return current;
}

/* Whether anchors that are named are none, or the one tuple that is being processed: all others
   `general` has to find, by their ids if need be. */
static int are_current(PyObject *anchors, PyObject *current) {
    if (!PyList_CheckExact(anchors) && !PyTuple_CheckExact(anchors))
        return 0;
    Py_ssize_t named = PySequence_Fast_GET_SIZE(anchors);
    return named == 0
        || (named == 1 && PyList_CheckExact(current) && PyList_GET_SIZE(current) == 1
            && PyList_GET_ITEM(current, 0) == PySequence_Fast_GET_ITEM(anchors, 0));
}

/* Whether an emit of pystorm's bolt is for this one; in `*anchors` what it is anchored to where no
   anchors are named, as a new reference. */
static enum outcome is_of_users_bolt(struct emit *emit, PyObject *named, PyObject **anchors) {
    int is_main = is_in_main_thread(emit), is_anchored = 0;
    if (is_main <= 0)
        return is_main < 0 ? RAISED : LEFT;
    PyObject *current = current_of(emit, &is_anchored);
    if (current == NULL)
        return left_by_exception();
    if (named != Py_None) {
        int is_known = are_current(named, current);
        Py_DECREF(current);
        return is_known ? DONE : LEFT;
    }
    *anchors = is_anchored ? current : Py_NewRef(Py_None);
    if (!is_anchored)
        Py_DECREF(current);
    return DONE;
}

/* --- a spout's --- */

enum { TUP_ID = 1, SPOUT_STREAM = 2 };

/* Remember a tree's tuple id, and its beginning where that is to be told. */
static enum outcome note_tree(struct emit *emit, PyObject *root, uint64_t number, uint64_t edges,
                              PyObject *tup_id) {
    if (emit->inits != Py_None) {
        PyObject *total = PyLong_FromUnsignedLongLong(edges);
        int is_told = total != NULL && PyList_Append(emit->inits, root) == 0
            && PyList_Append(emit->inits, total) == 0;
        Py_XDECREF(total);
        if (!is_told)
            return RAISED;
    }
    int is_noted = Py_TYPE(emit->pending) == pending_type
        ? put_id(PENDING(emit->pending), number, tup_id)
        : PyObject_SetItem(emit->pending, root, tup_id);
    return is_noted < 0 ? RAISED : DONE;
}

/* Begin the tree of a tuple that goes into a buffer. */
static enum outcome put_begun(struct emit *emit, PyObject *tup_id, struct contents *to,
                               struct addition *tuple) {
    uint64_t number;
    PyObject *root = PyObject_CallNoArgs(emit->next_root);
    enum outcome outcome = RAISED;
    tuple->edges = &number;
    if (root != NULL && draw_edges(emit->next_edge, &number, 1) == 0
        && number_of(root, &tuple->root) == 0 && add_tuple(to, tuple) == 0)
        outcome = note_tree(emit, root, tuple->root, number, tup_id);
    Py_XDECREF(root);
    return outcome;
}

/* As spout_emit_to_several. */
static enum outcome put_begun_in_several(struct emit *emit, PyObject *tup_id, const struct row *row,
                                         const struct chosen *chosen) {
    PyObject *root = NULL;
    uint64_t number = 0, total = 0;
    if (make_way(emit, chosen) < 0)
        return RAISED;
    if (tup_id != Py_None && emit->tracked && chosen->used) {
        root = PyObject_CallNoArgs(emit->next_root);
        if (root == NULL || number_of(root, &number) < 0) {
            Py_XDECREF(root);
            return RAISED;
        }
    } else if (tup_id != Py_None && PyList_Append(emit->done_at_once, tup_id) < 0)
        return RAISED;
    enum outcome outcome = put_in_several(emit, row, number, chosen, &total);
    if (outcome == DONE && root != NULL)
        outcome = note_tree(emit, root, number, total, tup_id);
    Py_XDECREF(root);
    return outcome;
}

static enum outcome put_of_spout(struct emit *emit, PyObject *const *given, struct row *row,
                                 struct chosen *chosen) {
    static const uint64_t none = 0;
    PyObject *tup_id = given[TUP_ID];
    enum outcome outcome = pack_row(emit, given[TUP], row);
    if (outcome == DONE)
        outcome = choose_buffers(emit, given, chosen);
    if (outcome != DONE)
        return outcome;
    if (emit->has_several)
        return put_begun_in_several(emit, tup_id, row, chosen);
    struct contents *to = CONTENTS(chosen->items[0]);
    struct addition tuple = {.row = row->data, .bytes = row->size, .targets = emit->tracked,
                             .edges = &none, .stream = -1};
    if (emit->tracked && tup_id != Py_None)
        return put_begun(emit, tup_id, to, &tuple);
    if (add_tuple(to, &tuple) < 0)
        return RAISED;
    return tup_id != Py_None && PyList_Append(emit->done_at_once, tup_id) < 0 ? RAISED : DONE;
}

/* --- both --- */

/* Whether this emit is the one for what is given: neither that of another stream, nor one for what
   only `general` does; in `*anchors` what the user's bolt is at work on. */
static enum outcome is_for_this(struct emit *emit, PyObject *const *given, PyObject **anchors) {
    int stream = emit->is_spout ? SPOUT_STREAM : BOLT_STREAM;
    PyObject *task = given[DIRECT_TASK];
    if (emit->is_shared || given[stream] != emit->unnamed)
        return LEFT;
    if (task == Py_None ? emit->wants_direct : emit->direct == Py_None || !PyLong_CheckExact(task))
        return LEFT;
    int tells_threads = (emit->is_spout ? emit->thread : emit->user) != Py_None;
    if (!tells_threads && !emit->has_several)
        return DONE;
    int is_needed = PyObject_IsTrue(given[NEED_TASK_IDS]);
    if (is_needed)
        return is_needed < 0 ? RAISED : LEFT;
    if (!tells_threads)
        return DONE;
    if (!emit->is_spout)
        return is_of_users_bolt(emit, given[ANCHORS], anchors);
    int is_main = is_in_main_thread(emit);
    return is_main < 0 ? RAISED : is_main ? DONE : LEFT;
}

static inline PyObject *run_emit(struct emit *emit, PyObject **given) {
    PyObject *anchors = NULL, *result = NULL;
    struct row row;
    struct chosen chosen;
    row.bytes = NULL;
    begin_chosen(&chosen);
    enum outcome outcome = is_for_this(emit, given, &anchors);
    if (anchors != NULL)
        given[ANCHORS] = anchors;
    if (outcome == DONE)
        outcome = emit->is_spout ? put_of_spout(emit, given, &row, &chosen)
                                 : put_of_bolt(emit, given, &row, &chosen);
    if (outcome == DONE)
        result = make_room(emit, row.size, given[NEED_TASK_IDS], &chosen);
    else if (outcome == LEFT)
        result = left_to_general(emit, given);
    Py_XDECREF(row.bytes);
    end_chosen(&chosen);
    Py_XDECREF(anchors);
    return result;
}

static PyTypeObject emit_type;

/* By the emit of the stream that is named; `general` if it has none. */
static PyObject *run_by_stream(struct emit *emit, PyObject **given) {
    PyObject **stream = &given[emit->is_spout ? SPOUT_STREAM : BOLT_STREAM];
    PyObject *found = PyDict_GetItemWithError(emit->by_stream, *stream);
    if (found == NULL && PyErr_Occurred() && left_by_exception() == RAISED)
        return NULL;
    if (found == NULL || Py_TYPE(found) != &emit_type)
        return left_to_general(emit, given);
    Py_INCREF(found);
    *stream = ((struct emit *)found)->unnamed;
    PyObject *result = run_emit((struct emit *)found, given);
    Py_DECREF(found);
    return result;
}

static PyObject *emit_call(PyObject *self, PyObject *const *arguments, size_t flags,
                           PyObject *names) {
    struct emit *emit = (struct emit *)self;
    PyObject *given[PARAMETERS] = {NULL, Py_None, Py_None, Py_None, Py_False};
    given[emit->is_spout ? SPOUT_STREAM : BOLT_STREAM] = emit->unnamed;
    if (!take_arguments(emit->is_spout, arguments, PyVectorcall_NARGS(flags), names, given))
        return PyObject_Vectorcall(emit->general, arguments, flags, names);
    return emit->by_stream == Py_None ? run_emit(emit, given) : run_by_stream(emit, given);
}

/* --- the type --- */

#define OWNED(emit) \
    {&(emit)->outbox, &(emit)->general, &(emit)->pack, &(emit)->next_edge, &(emit)->unnamed, \
     &(emit)->picks, &(emit)->user, &(emit)->thread, &(emit)->main_thread, &(emit)->next_root, \
     &(emit)->pending, &(emit)->done_at_once, &(emit)->inits, &(emit)->emits, &(emit)->direct, \
     &(emit)->by_stream}

static int emit_traverse(PyObject *self, visitproc visit, void *arg) {
    PyObject **owned[] = OWNED((struct emit *)self);
    for (size_t at = 0; at < sizeof owned / sizeof *owned; at++)
        Py_VISIT(*owned[at]);
    return 0;
}

static int emit_clear(PyObject *self) {
    PyObject **owned[] = OWNED((struct emit *)self);
    for (size_t at = 0; at < sizeof owned / sizeof *owned; at++)
        Py_CLEAR(*owned[at]);
    return 0;
}

static void emit_dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    emit_clear(self);
    Py_TYPE(self)->tp_free(self);
}

static PyObject *emit_share(PyObject *self, PyObject *nothing) {
    (void)nothing;
    ((struct emit *)self)->is_shared = 1;
    Py_RETURN_NONE;
}

static PyMethodDef emit_methods[] = {
    {"share", emit_share, METH_NOARGS, "It leaves all to the general emit, as several threads emit."},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject emit_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "heron_core.hot_emit_compiled.Emit",
    .tp_basicsize = sizeof(struct emit),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(struct emit, call),
    .tp_call = PyVectorcall_Call,
    .tp_traverse = emit_traverse,
    .tp_clear = emit_clear,
    .tp_dealloc = emit_dealloc,
    .tp_methods = emit_methods,
};

/* See `position` of struct emit. */
static Py_ssize_t only_position(struct emit *emit) {
    if (emit->has_several || emit->picks == Py_None)
        return -1;
    PyObject *pick = PyTuple_GET_ITEM(emit->picks, 0);
    if (ITEM(pick, BUFFERS) == Py_None || ITEM(pick, SENT) != Py_None
        || PyTuple_GET_SIZE(ITEM(pick, POSITIONS)) != 1)
        return -1;
    return PyLong_AsSsize_t(PyTuple_GET_ITEM(ITEM(pick, POSITIONS), 0));
}

/* An emit of these objects, which are in the order of OWNED; None where there is none. */
static PyObject *new_emit(PyObject *objects, Py_ssize_t width, Py_ssize_t most, Py_ssize_t overhead,
                          int stream, int tracked, int is_spout, int packs_plain, int wants_direct,
                          int asks_python) {
    if (!(emit_type.tp_flags & Py_TPFLAGS_READY)
        && (know_parameters() < 0 || PyType_Ready(&emit_type) < 0))
        return NULL;
    struct emit *emit = (struct emit *)PyType_GenericAlloc(&emit_type, 0);
    if (emit == NULL)
        return NULL;
    PyObject **owned[] = OWNED(emit);
    for (size_t at = 0; at < sizeof owned / sizeof *owned; at++)
        *owned[at] = Py_NewRef(PyTuple_GET_ITEM(objects, (Py_ssize_t)at));
    emit->width = width;
    emit->most = most;
    emit->overhead = overhead;
    emit->stream = stream;
    emit->has_several = emit->emits != Py_None;
    emit->wants_direct = wants_direct;
    emit->tracked = tracked;
    emit->is_spout = is_spout;
    emit->packs_plain = packs_plain;
    emit->asks_python = asks_python;
    emit->ident = PyThread_get_thread_ident();
    emit->position = only_position(emit);
    emit->call = emit_call;
    return (PyObject *)emit;
}

/* --- an emit with anchors of its own --- */

struct anchored {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *emit, *current, *unnamed;
};

static PyObject *anchored_call(PyObject *self, PyObject *const *arguments, size_t flags,
                               PyObject *names) {
    struct anchored *anchored = (struct anchored *)self;
    PyObject *given[PARAMETERS] = {NULL, anchored->unnamed, Py_None, Py_None, Py_False};
    if (!take_arguments(0, arguments, PyVectorcall_NARGS(flags), names, given))
        return PyObject_Vectorcall(anchored->emit, arguments, flags, names);
    if (given[ANCHORS] == Py_None)
        given[ANCHORS] = anchored->current;
    return PyObject_Vectorcall(anchored->emit, given, PARAMETERS, NULL);
}

static int anchored_traverse(PyObject *self, visitproc visit, void *arg) {
    struct anchored *anchored = (struct anchored *)self;
    Py_VISIT(anchored->emit);
    Py_VISIT(anchored->current);
    Py_VISIT(anchored->unnamed);
    return 0;
}

static int anchored_clear(PyObject *self) {
    struct anchored *anchored = (struct anchored *)self;
    Py_CLEAR(anchored->emit);
    Py_CLEAR(anchored->current);
    Py_CLEAR(anchored->unnamed);
    return 0;
}

static void anchored_dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    anchored_clear(self);
    Py_TYPE(self)->tp_free(self);
}

static PyTypeObject anchored_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "heron_core.hot_emit_compiled.AnchoredEmit",
    .tp_basicsize = sizeof(struct anchored),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(struct anchored, call),
    .tp_call = PyVectorcall_Call,
    .tp_traverse = anchored_traverse,
    .tp_clear = anchored_clear,
    .tp_dealloc = anchored_dealloc,
};

/* A bolt's emit whose tuples are anchored to those of a list where no anchors are named. */
static PyObject *new_anchored(PyObject *emit, PyObject *current, PyObject *unnamed) {
    if (!(anchored_type.tp_flags & Py_TPFLAGS_READY)
        && (know_parameters() < 0 || PyType_Ready(&anchored_type) < 0))
        return NULL;
    struct anchored *anchored = (struct anchored *)PyType_GenericAlloc(&anchored_type, 0);
    if (anchored == NULL)
        return NULL;
    anchored->emit = Py_NewRef(emit);
    anchored->current = Py_NewRef(current);
    anchored->unnamed = Py_NewRef(unnamed);
    anchored->call = anchored_call;
    return (PyObject *)anchored;
}
