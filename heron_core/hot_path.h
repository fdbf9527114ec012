/* Tuples in C: the function of hot_path.py that is C when it is compiled, and what its siblings share. */

#ifndef HOT_PATH_H
#define HOT_PATH_H

#include <Python.h>
#include <stdint.h>

/* adapters/tuple_layout.py: key, …, values, created, roots */
enum { TUPLE_ITEMS = 7, KEY_AT = 0, COMPONENT_AT = 1, STREAM_AT, TASK_AT, VALUES_AT, ROOTS_AT = 6 };

/* Whether instances of a class are Python's tuples of the items that it is made from. */
static int is_plain_kind(PyTypeObject *type) {
    return PyType_HasFeature(type, Py_TPFLAGS_TUPLE_SUBCLASS) && type->tp_new == PyTuple_Type.tp_new
        && type->tp_init == PyTuple_Type.tp_init
        && Py_TYPE((PyObject *)type)->tp_call == PyType_Type.tp_call;
}

/* kind((key, …)), for a class that only has `tuple.__new__` without making a tuple twice. */
static PyObject *made_tuple(PyObject *kind, PyObject *key, PyObject *component, PyObject *stream,
                            PyObject *task, PyObject *values, PyObject *created, PyObject *roots) {
    PyObject *items[TUPLE_ITEMS] = {key, component, stream, task, values, created, roots};
    PyTypeObject *type = (PyTypeObject *)kind;
    PyObject *made;
    if (PyType_Check(kind) && is_plain_kind(type)) {
        made = type->tp_alloc(type, TUPLE_ITEMS);
        for (int at = 0; made != NULL && at < TUPLE_ITEMS; at++) {
            Py_INCREF(items[at]);
            PyTuple_SET_ITEM(made, at, items[at]);
        }
        return made;
    }
    PyObject *whole = PyTuple_New(TUPLE_ITEMS);
    if (whole == NULL)
        return NULL;
    for (int at = 0; at < TUPLE_ITEMS; at++) {
        Py_INCREF(items[at]);
        PyTuple_SET_ITEM(whole, at, items[at]);
    }
    made = PyObject_CallOneArg(kind, whole);
    Py_DECREF(whole);
    return made;
}

/* --- the anchor state of a run, in numbers: hot_path.py's RunState has it as its first field --- */

struct run {
    uint64_t root, value;
    uint64_t first_key; /* those of the other tuples follow it */
    Py_ssize_t tuples, settled;
    int is_whole; /* it has become a list, which counts */
};

#define RUN(state) ((struct run *)((char *)(state) + sizeof(PyObject)))

/* What RunState is, once the module that has it is loaded. */
static PyTypeObject *run_type;

static void know_runs(PyObject *type) {
    run_type = (PyTypeObject *)type;
}

static int is_in_numbers(PyObject *state) {
    return Py_TYPE(state) == run_type && !RUN(state)->is_whole;
}

/* A state that may be one of numbers, as a list; the reference is taken and a new one returned. */
static PyObject *as_list(PyObject *state) {
    if (Py_TYPE(state) != run_type)
        return state;
    PyObject *list = PyObject_CallMethod(state, "whole", NULL);
    Py_DECREF(state);
    return list;
}

/* What a tuple's class says its roots are, as it is in the tuple; a new reference. */
static PyObject *item_of_roots(PyObject *tuple) {
    if (PyTuple_Check(tuple) && PyTuple_GET_SIZE(tuple) == TUPLE_ITEMS)
        return Py_NewRef(PyTuple_GET_ITEM(tuple, ROOTS_AT));
    PyErr_SetString(PyExc_TypeError, "roots of what is no tuple of the engine's");
    return NULL;
}

/* An item of a tuple, whose class may have it elsewhere; a new reference. */
static PyObject *item_of(PyObject *tuple, int at, PyObject *name) {
    if (is_plain_kind(Py_TYPE(tuple)) && PyTuple_GET_SIZE(tuple) == TUPLE_ITEMS)
        return Py_NewRef(PyTuple_GET_ITEM(tuple, at));
    return PyObject_GetAttr(tuple, name);
}

static PyObject *roots_of(PyObject *tuple) {
    static PyObject *name;
    if (name == NULL)
        name = PyUnicode_InternFromString("roots");
    return name == NULL ? NULL : item_of(tuple, ROOTS_AT, name);
}

static PyObject *key_of(PyObject *tuple) {
    static PyObject *name;
    if (name == NULL)
        name = PyUnicode_InternFromString("tuple_key");
    return name == NULL ? NULL : item_of(tuple, KEY_AT, name);
}

#endif
