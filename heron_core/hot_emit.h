/* The functions of hot_emit.py that are C when it is compiled. */

#include <Python.h>
#include <stddef.h>

#include "hot_buffers.h"
#include "hot_keys.h"
#include "hot_path.h"

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
    PyObject *keyed;        /* what has the buffer of a key, or None */
    PyObject *buffers;      /* where plain keys are hashed: a buffer for each slot, or None */
    PyObject *sent;         /* of a partial key grouping: how many tuples went to each slot, or None */
    PyObject *turns;        /* or an iterator over buffers */
    PyObject *user, *thread, *main_thread;
    PyObject *next_root, *pending, *done_at_once, *inits; /* of a spout */
    PyObject *positions;    /* of the fields of a key */
    Py_ssize_t width, most, overhead;
    unsigned long ident;    /* of the main thread, where `thread` is threading.get_ident */
    int asks_python;        /* whether `thread` is something else */
    int packs_plain;        /* whether `pack` is msgpack's, and not the topology's own serialiser */
    int tracked, is_spout, is_shared;
};

static PyObject *parameters[2][PARAMETERS]; /* a bolt's and a spout's, interned */
static PyObject *auto_anchor_name, *current_tuples_name; /* what is read of a pystorm bolt, too */

static int know_names(void) {
    auto_anchor_name = PyUnicode_InternFromString("auto_anchor");
    current_tuples_name = PyUnicode_InternFromString("_current_tups");
    return auto_anchor_name == NULL || current_tuples_name == NULL ? -1 : 0;
}

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
static int take_arguments(struct emit *emit, PyObject *const *arguments, Py_ssize_t number,
                          PyObject *names, PyObject **given) {
    if (number > PARAMETERS)
        return 0;
    int present = (1 << number) - 1;
    for (Py_ssize_t at = 0; at < number; at++)
        given[at] = arguments[at];
    for (Py_ssize_t at = 0; names != NULL && at < PyTuple_GET_SIZE(names); at++) {
        int place = parameter(parameters[emit->is_spout], PyTuple_GET_ITEM(names, at));
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

/* A field of the key, borrowed. */
static PyObject *field_of(struct emit *emit, PyObject *tup, Py_ssize_t at) {
    Py_ssize_t position = PyLong_AsSsize_t(PyTuple_GET_ITEM(emit->positions, at));
    if (position >= PySequence_Fast_GET_SIZE(tup)) {
        PyErr_SetString(PyExc_IndexError, "a tuple that became shorter while it was emitted");
        return NULL;
    }
    return PySequence_Fast_GET_ITEM(tup, position);
}

/* The key of a tuple: a value, or a tuple of several. */
static PyObject *whole_key(struct emit *emit, PyObject *tup) {
    Py_ssize_t fields = PyTuple_GET_SIZE(emit->positions);
    if (fields == 1)
        return Py_XNewRef(field_of(emit, tup, 0));
    PyObject *key = PyTuple_New(fields);
    for (Py_ssize_t at = 0; key != NULL && at < fields; at++) {
        PyObject *value = field_of(emit, tup, at);
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
    Py_ssize_t other = slot_behind("second choice", values, fields, slots);
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
static PyObject *buffer_of_plain_key(struct emit *emit, PyObject *tup) {
    Py_ssize_t fields = PyTuple_GET_SIZE(emit->positions);
    if (emit->buffers == Py_None)
        return NULL;
    PyObject *values[fields];
    for (Py_ssize_t at = 0; at < fields; at++)
        if ((values[at] = field_of(emit, tup, at)) == NULL)
            return NULL;
    Py_ssize_t slots = PyList_GET_SIZE(emit->buffers), slot = slot_of_values(values, fields, slots);
    if (slot >= 0 && emit->sent != Py_None)
        slot = less_used(emit->sent, values, fields, slot, slots);
    return slot >= 0 && slot < slots ? PyList_GET_ITEM(emit->buffers, slot) : NULL;
}

/* The buffer of a key; a new reference, or NULL with an exception. */
static PyObject *buffer_of_key(struct emit *emit, PyObject *tup) {
    PyObject *buffer = buffer_of_plain_key(emit, tup);
    if (buffer != NULL || PyErr_Occurred())
        return Py_XNewRef(buffer);
    PyObject *key = whole_key(emit, tup);
    if (key == NULL)
        return NULL;
    buffer = PyObject_GetItem(emit->keyed, key);
    Py_DECREF(key);
    return buffer;
}

/* The buffer of a tuple, as a new reference. It is taken last: a tuple that is left to `general` does
   not skip one. */
static enum outcome choose_buffer(struct emit *emit, PyObject *tup, PyObject **buffer) {
    *buffer = emit->keyed == Py_None ? PyIter_Next(emit->turns) : buffer_of_key(emit, tup);
    if (*buffer == NULL)
        return PyErr_Occurred() ? left_by_exception() : LEFT;
    return is_buffer(*buffer) ? DONE : LEFT;
}

/* The room of an outbox is its first field, which `is_first` holds. */
static PyObject *make_room(struct emit *emit, Py_ssize_t bytes, PyObject *need, PyObject *buffer) {
    Py_ssize_t *room = (Py_ssize_t *)((char *)emit->outbox + sizeof(PyObject));
    if ((*room -= bytes + emit->overhead) < 0) {
        PyObject *flushed = PyObject_CallMethod(emit->outbox, "flush", NULL);
        if (flushed == NULL)
            return NULL;
        Py_DECREF(flushed);
    }
    int is_needed = PyObject_IsTrue(need);
    if (is_needed <= 0)
        return is_needed < 0 ? NULL : Py_NewRef(Py_None);
    PyObject *task = PyObject_GetAttrString(buffer, "destination");
    PyObject *tasks = task == NULL ? NULL : PyList_New(1);
    if (tasks == NULL)
        Py_XDECREF(task);
    else
        PyList_SET_ITEM(tasks, 0, task);
    return tasks;
}

/* --- a bolt's --- */

enum { BOLT_STREAM = 1, ANCHORS = 2 };

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
    if (is_in_numbers(roots)) {
        *root = RUN(roots)->root;
        return RUN(roots)->settled < RUN(roots)->tuples ? DONE : LEFT;
    }
    if (!PyList_Check(roots) || PyList_GET_SIZE(roots) != 2)
        return LEFT;
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
        return is_in_numbers(state) && RUN(state)->settled < RUN(state)->tuples ? DONE : LEFT;
    if (PyList_GET_SIZE(state) != 2 || number_of(PyList_GET_ITEM(state, 1), &before) < 0)
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

static enum outcome put_of_bolt(struct emit *emit, PyObject *tup, PyObject *anchors,
                                struct row *row, PyObject **buffer) {
    PyObject *state = NULL;
    uint64_t root = 0;
    enum outcome outcome = pack_row(emit, tup, row);
    if (outcome == DONE)
        outcome = state_of(emit, anchors, &state, &root);
    if (outcome == DONE)
        outcome = choose_buffer(emit, tup, buffer);
    if (outcome == DONE)
        outcome = put_anchored(emit, row, state, root, *buffer);
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

/* The anchors that pystorm's bolt has where none are named, as a new reference. */
static enum outcome users_anchors(struct emit *emit, PyObject **anchors) {
    int is_main = is_in_main_thread(emit);
    if (is_main <= 0)
        return is_main < 0 ? RAISED : LEFT;
    PyObject *wanted = PyObject_GetAttr(emit->user, auto_anchor_name);
    int is_wanted = wanted == NULL ? -1 : PyObject_IsTrue(wanted);
    Py_XDECREF(wanted);
    if (is_wanted < 0)
        return RAISED;
    *anchors = is_wanted ? PyObject_GetAttr(emit->user, current_tuples_name) : Py_NewRef(Py_None);
    return *anchors == NULL ? RAISED : DONE;
}

static PyObject *bolt_emit_call(PyObject *self, PyObject *const *arguments, size_t flags,
                                PyObject *names) {
    struct emit *emit = (struct emit *)self;
    PyObject *given[PARAMETERS] = {NULL, emit->unnamed, Py_None, Py_None, Py_False};
    if (!take_arguments(emit, arguments, PyVectorcall_NARGS(flags), names, given))
        return PyObject_Vectorcall(emit->general, arguments, flags, names);
    if (emit->is_shared || given[BOLT_STREAM] != emit->unnamed || given[DIRECT_TASK] != Py_None)
        return left_to_general(emit, given);
    PyObject *anchors = NULL, *buffer = NULL, *result = NULL;
    enum outcome outcome = DONE;
    if (emit->user != Py_None) {
        int is_needed = PyObject_IsTrue(given[NEED_TASK_IDS]);
        outcome = is_needed < 0 ? RAISED : is_needed || given[ANCHORS] != Py_None ? LEFT
                : users_anchors(emit, &anchors);
        if (anchors != NULL)
            given[ANCHORS] = anchors;
    }
    struct row row;
    row.bytes = NULL;
    if (outcome == DONE)
        outcome = put_of_bolt(emit, given[TUP], given[ANCHORS], &row, &buffer);
    if (outcome == DONE)
        result = make_room(emit, row.size, given[NEED_TASK_IDS], buffer);
    else if (outcome == LEFT)
        result = left_to_general(emit, given);
    Py_XDECREF(row.bytes);
    Py_XDECREF(buffer);
    Py_XDECREF(anchors);
    return result;
}

/* --- a spout's --- */

enum { TUP_ID = 1, SPOUT_STREAM = 2 };

/* Begin the tree of a tuple that goes into a buffer. */
static enum outcome begin_tree(struct emit *emit, PyObject *tup_id, struct contents *to,
                               struct addition *tuple) {
    uint64_t number;
    PyObject *edge = NULL, *root = PyObject_CallNoArgs(emit->next_root);
    if (root != NULL)
        edge = PyObject_CallNoArgs(emit->next_edge);
    int is_done = edge != NULL && number_of(root, &tuple->root) == 0 && number_of(edge, &number) == 0;
    if (is_done) {
        tuple->edges = &number;
        is_done = add_tuple(to, tuple) == 0;
    }
    if (is_done && emit->inits != Py_None)
        is_done = PyList_Append(emit->inits, root) == 0 && PyList_Append(emit->inits, edge) == 0;
    if (is_done)
        is_done = PyObject_SetItem(emit->pending, root, tup_id) == 0;
    Py_XDECREF(root);
    Py_XDECREF(edge);
    return is_done ? DONE : RAISED;
}

static enum outcome put_of_spout(struct emit *emit, PyObject *tup, PyObject *tup_id,
                                 struct row *row, PyObject **buffer) {
    static const uint64_t none = 0;
    enum outcome outcome = pack_row(emit, tup, row);
    if (outcome == DONE)
        outcome = choose_buffer(emit, tup, buffer);
    if (outcome != DONE)
        return outcome;
    struct addition tuple = {.row = row->data, .bytes = row->size, .targets = emit->tracked,
                             .edges = &none, .stream = -1};
    if (emit->tracked && tup_id != Py_None)
        return begin_tree(emit, tup_id, CONTENTS(*buffer), &tuple);
    if (add_tuple(CONTENTS(*buffer), &tuple) < 0)
        return RAISED;
    return tup_id != Py_None && PyList_Append(emit->done_at_once, tup_id) < 0 ? RAISED : DONE;
}

/* Whether a spout's emit that tells threads apart is left to `general`. */
static enum outcome is_for_main_thread(struct emit *emit, PyObject *need) {
    int is_needed = PyObject_IsTrue(need);
    if (is_needed)
        return is_needed < 0 ? RAISED : LEFT;
    int is_main = is_in_main_thread(emit);
    return is_main < 0 ? RAISED : is_main ? DONE : LEFT;
}

static PyObject *spout_emit_call(PyObject *self, PyObject *const *arguments, size_t flags,
                                 PyObject *names) {
    struct emit *emit = (struct emit *)self;
    PyObject *given[PARAMETERS] = {NULL, Py_None, emit->unnamed, Py_None, Py_False};
    if (!take_arguments(emit, arguments, PyVectorcall_NARGS(flags), names, given))
        return PyObject_Vectorcall(emit->general, arguments, flags, names);
    if (emit->is_shared || given[SPOUT_STREAM] != emit->unnamed || given[DIRECT_TASK] != Py_None)
        return left_to_general(emit, given);
    PyObject *buffer = NULL, *result = NULL;
    struct row row;
    row.bytes = NULL;
    enum outcome outcome = DONE;
    if (emit->thread != Py_None)
        outcome = is_for_main_thread(emit, given[NEED_TASK_IDS]);
    if (outcome == DONE)
        outcome = put_of_spout(emit, given[TUP], given[TUP_ID], &row, &buffer);
    if (outcome == DONE)
        result = make_room(emit, row.size, given[NEED_TASK_IDS], buffer);
    else if (outcome == LEFT)
        result = left_to_general(emit, given);
    Py_XDECREF(row.bytes);
    Py_XDECREF(buffer);
    return result;
}

/* --- the type --- */

#define OWNED(emit) \
    {&(emit)->outbox, &(emit)->general, &(emit)->pack, &(emit)->next_edge, &(emit)->unnamed, \
     &(emit)->keyed, &(emit)->buffers, &(emit)->sent, &(emit)->turns, &(emit)->user, &(emit)->thread, \
     &(emit)->main_thread, &(emit)->next_root, &(emit)->pending, &(emit)->done_at_once, \
     &(emit)->inits, &(emit)->positions}

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

/* An emit of these objects, which are in the order of OWNED; None where there is none. */
static PyObject *new_emit(PyObject *objects, Py_ssize_t width, Py_ssize_t most, Py_ssize_t overhead,
                          int tracked, int is_spout, int packs_plain, int asks_python) {
    if (!(emit_type.tp_flags & Py_TPFLAGS_READY)
        && (know_parameters() < 0 || know_names() < 0 || PyType_Ready(&emit_type) < 0))
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
    emit->tracked = tracked;
    emit->is_spout = is_spout;
    emit->packs_plain = packs_plain;
    emit->asks_python = asks_python;
    emit->ident = PyThread_get_thread_ident();
    emit->call = is_spout ? spout_emit_call : bolt_emit_call;
    return (PyObject *)emit;
}
