/* The tuple ids of a spout's pending roots, for hot_trees.py and hot_emit.h: a table of hot_trees.h
   whose values are objects. */

#ifndef HOT_PENDING_H
#define HOT_PENDING_H

#include "hot_trees.h"

enum { IS_TIMED = 1 }; /* of a value: its root is of the sample of latencies; objects have even addresses */

struct pending {
    struct trees ids;
    uint64_t newest; /* the highest root so far, which may be settled */
    int was_timed;   /* whether the root that was taken last is of the sample */
};

/* What PendingIds is, once the module that has it is loaded. */
static PyTypeObject *pending_type;

static void know_pending(PyObject *type) {
    pending_type = (PyTypeObject *)type;
}

/* Where PendingIds has it; `is_first` is what holds that. */
#define PENDING(object) ((struct pending *)((char *)(object) + sizeof(PyObject)))

static PyObject *id_in(const struct tree *tree) {
    return (PyObject *)(uintptr_t)(tree->value & ~(uint64_t)IS_TIMED);
}

/* Remember the id of a root; -1 with MemoryError. */
static int put_id(struct pending *pending, uint64_t root, PyObject *id) {
    struct tree *known = known_tree(&pending->ids, root);
    PyObject *before = known == NULL ? NULL : id_in(known);
    if (begin_tree(&pending->ids, root, (uint64_t)(uintptr_t)id) < 0)
        return -1;
    Py_INCREF(id);
    if (root > pending->newest)
        pending->newest = root;
    Py_XDECREF(before);
    return 0;
}

/* Forget a root and return its id; `missing` for one that is not pending. */
static PyObject *take_id(struct pending *pending, uint64_t root, PyObject *missing) {
    struct tree *tree = known_tree(&pending->ids, root);
    if (tree == NULL)
        return Py_NewRef(missing);
    PyObject *id = id_in(tree);
    pending->was_timed = (int)(tree->value & IS_TIMED);
    remove_tree(&pending->ids, tree);
    return id;
}

static PyObject *known_id(const struct pending *pending, uint64_t root, PyObject *missing) {
    struct tree *tree = known_tree(&pending->ids, root);
    return Py_NewRef(tree == NULL ? missing : id_in(tree));
}

/* A pending root is of the sample of latencies. */
static void time_id(struct pending *pending, uint64_t root) {
    struct tree *tree = known_tree(&pending->ids, root);
    if (tree != NULL)
        tree->value |= IS_TIMED;
}

/* The highest pending root; 0 for none. */
static uint64_t newest_id(struct pending *pending) {
    if (known_tree(&pending->ids, pending->newest) != NULL || pending->ids.used == 0)
        return pending->ids.used == 0 ? 0 : pending->newest;
    pending->newest = 0;
    for (Py_ssize_t at = 0; at < pending->ids.room; at++)
        if (pending->ids.slots[at].root > pending->newest)
            pending->newest = pending->ids.slots[at].root;
    return pending->newest;
}

/* All pending roots, in no order. */
static PyObject *listed_roots(const struct pending *pending) {
    PyObject *roots = PyList_New(0);
    for (Py_ssize_t at = 0; roots != NULL && at < pending->ids.room; at++)
        if (pending->ids.slots[at].root != 0 && add_number(roots, pending->ids.slots[at].root) < 0)
            Py_CLEAR(roots);
    return roots;
}

/* Let go of all ids: what is freed may not find them any more. */
static void end_pending(struct pending *pending) {
    struct pending ended = *pending;
    memset(pending, 0, sizeof *pending);
    for (Py_ssize_t at = 0; at < ended.ids.room; at++)
        if (ended.ids.slots[at].root != 0)
            Py_DECREF(id_in(&ended.ids.slots[at]));
    free_trees(&ended.ids);
}

#endif
