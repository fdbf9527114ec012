/* The function of hot_batches.py that is C when it is compiled. */

#include <Python.h>
#include <stdint.h>
#include <string.h>

enum { BYTES_OF_A_SIZE = 4 };

/* Whether runs of these sizes, none of them empty, are of so many tuples in all. */
static int sizes_add_up(PyObject *sizes, Py_ssize_t items) {
    Py_ssize_t end = PyBytes_CheckExact(sizes) ? PyBytes_GET_SIZE(sizes) : 0, tuples = 0;
    for (Py_ssize_t at = 0; at + BYTES_OF_A_SIZE <= end; at += BYTES_OF_A_SIZE) {
        uint32_t size;
        memcpy(&size, PyBytes_AS_STRING(sizes) + at, sizeof size);
        if (size == 0)
            return 0;
        tuples += size;
    }
    return tuples == items;
}
