/* The functions of hot_trees.py that are C when it is compiled: a table of roots. */

#ifndef HOT_TREES_H
#define HOT_TREES_H

#include <Python.h>
#include <stdint.h>
#include <string.h>

enum {
    TREES_MIN = 64,      /* slots of a table that has any */
    TOGETHER_BITS = 3,   /* roots that follow each other share a block of eight, which is two lines of a cache */
    PAIR_SIZE = 16,      /* of a root and a value in a message */
};

static const uint64_t TREES_SPREAD = 0x9e3779b97f4a7c15ull;

struct tree {
    uint64_t root, value; /* root 0 is none: a free slot */
};

/* Open addressing with linear probes, at most half full. What is removed leaves no mark: what stands
   behind it moves up, so that a table whose roots come and go stays as fast as it was. */
struct trees {
    struct tree *slots;
    Py_ssize_t used, room; /* room: 0, or a power of two */
    int shift;             /* leaves of a spread number as many bits as there are blocks */
};

static Py_ssize_t first_slot(const struct trees *trees, uint64_t root) {
    uint64_t block = (root >> TOGETHER_BITS) * TREES_SPREAD >> trees->shift;
    return (Py_ssize_t)(block << TOGETHER_BITS | (root & ((1 << TOGETHER_BITS) - 1)));
}

/* The slot that has a root, or the free one where it would be; of a table that has slots. */
static struct tree *slot_of_root(const struct trees *trees, uint64_t root) {
    Py_ssize_t at = first_slot(trees, root);
    while (trees->slots[at].root != 0 && trees->slots[at].root != root)
        at = (at + 1) & (trees->room - 1);
    return &trees->slots[at];
}

static struct tree *known_tree(const struct trees *trees, uint64_t root) {
    struct tree *tree = root == 0 || trees->used == 0 ? NULL : slot_of_root(trees, root);
    return tree == NULL || tree->root == 0 ? NULL : tree;
}

/* Twice the slots; -1 with MemoryError. */
static int grow_trees(struct trees *trees) {
    struct trees larger = {.room = trees->room ? 2 * trees->room : TREES_MIN, .used = trees->used};
    larger.slots = PyMem_RawCalloc((size_t)larger.room, sizeof *larger.slots);
    if (larger.slots == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    larger.shift = 64;
    for (Py_ssize_t blocks = larger.room >> TOGETHER_BITS; blocks > 1; blocks /= 2)
        larger.shift--;
    for (Py_ssize_t at = 0; at < trees->room; at++)
        if (trees->slots[at].root != 0)
            *slot_of_root(&larger, trees->slots[at].root) = trees->slots[at];
    PyMem_RawFree(trees->slots);
    *trees = larger;
    return 0;
}

static int begin_tree(struct trees *trees, uint64_t root, uint64_t value) {
    if (2 * (trees->used + 1) > trees->room && grow_trees(trees) < 0)
        return -1;
    struct tree *tree = slot_of_root(trees, root);
    trees->used += tree->root == 0;
    tree->root = root;
    tree->value = value;
    return 0;
}

/* Whether a slot is in a row of slots that begins behind `first` and ends with `last`, around the end. */
static int is_between(Py_ssize_t first, Py_ssize_t slot, Py_ssize_t last) {
    return first <= last ? first < slot && slot <= last : first < slot || slot <= last;
}

static void remove_tree(struct trees *trees, struct tree *tree) {
    Py_ssize_t mask = trees->room - 1, free = tree - trees->slots, at = free;
    for (;;) {
        at = (at + 1) & mask;
        if (trees->slots[at].root == 0)
            break;
        if (is_between(free, first_slot(trees, trees->slots[at].root), at))
            continue; /* probes for it begin behind the free slot */
        trees->slots[free] = trees->slots[at];
        free = at;
    }
    trees->slots[free].root = 0;
    trees->used--;
}

static void free_trees(struct trees *trees) {
    PyMem_RawFree(trees->slots);
    memset(trees, 0, sizeof *trees);
}

/* A number of a packet. */
static uint64_t number_in(PyObject *data, Py_ssize_t at) {
    uint64_t number;
    memcpy(&number, PyBytes_AS_STRING(data) + at, sizeof number);
    return number;
}

/* Where `bytes` is declared, Cython also takes None. */
static Py_ssize_t size_of_packet(PyObject *data) {
    return PyBytes_CheckExact(data) ? PyBytes_GET_SIZE(data) : 0;
}

/* Begin the trees of a packet of pairs; -1 with MemoryError. */
static int begin_trees(struct trees *trees, PyObject *data) {
    Py_ssize_t end = size_of_packet(data);
    for (Py_ssize_t at = 0; at + PAIR_SIZE <= end; at += PAIR_SIZE) {
        uint64_t root = number_in(data, at);
        if (root != 0 && begin_tree(trees, root, number_in(data, at + 8)) < 0)
            return -1;
    }
    return 0;
}

enum { TREE_IS_OPEN, TREE_IS_DONE, TREE_IS_UNKNOWN }; /* hot_trees.py: OPEN, DONE, UNKNOWN */

static int settle_tree(struct trees *trees, uint64_t root, uint64_t value) {
    struct tree *tree = known_tree(trees, root);
    if (tree == NULL)
        return TREE_IS_UNKNOWN;
    tree->value ^= value;
    if (tree->value != 0)
        return TREE_IS_OPEN;
    remove_tree(trees, tree);
    return TREE_IS_DONE;
}

static int end_tree(struct trees *trees, uint64_t root) {
    struct tree *tree = known_tree(trees, root);
    if (tree != NULL)
        remove_tree(trees, tree);
    return tree != NULL;
}

static int add_number(PyObject *list, uint64_t number) {
    PyObject *object = PyLong_FromUnsignedLongLong(number);
    int outcome = object == NULL ? -1 : PyList_Append(list, object);
    Py_XDECREF(object);
    return outcome;
}

/* hot_trees.TreeTable.settle. */
static PyObject *settle_trees(struct trees *trees, PyObject *data, Py_ssize_t start, Py_ssize_t end,
                              PyObject *others) {
    Py_ssize_t size = size_of_packet(data), done = 0;
    end = end < size ? end : size;
    PyObject *roots = PyBytes_FromStringAndSize(NULL, end > start ? (end - start) / 2 : 0);
    for (Py_ssize_t at = start; roots != NULL && at + PAIR_SIZE <= end; at += PAIR_SIZE) {
        uint64_t root = number_in(data, at), value = number_in(data, at + 8);
        int outcome = settle_tree(trees, root, value);
        if (outcome == TREE_IS_UNKNOWN && (add_number(others, root) < 0 || add_number(others, value) < 0))
            Py_CLEAR(roots);
        if (outcome == TREE_IS_DONE) {
            memcpy(PyBytes_AS_STRING(roots) + done, &root, sizeof root);
            done += (Py_ssize_t)sizeof root;
        }
    }
    if (roots != NULL)
        _PyBytes_Resize(&roots, done);
    return roots;
}

/* root, value, … of all trees, in no order. */
static PyObject *listed_trees(const struct trees *trees) {
    PyObject *numbers = PyList_New(0);
    for (Py_ssize_t at = 0; numbers != NULL && at < trees->room; at++) {
        const struct tree *tree = &trees->slots[at];
        if (tree->root != 0 && (add_number(numbers, tree->root) < 0 || add_number(numbers, tree->value) < 0))
            Py_CLEAR(numbers);
    }
    return numbers;
}

#endif
