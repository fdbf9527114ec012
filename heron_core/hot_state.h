/* The function of hot_state.py that is C when it is compiled. */

#include <Python.h>

/* An item of a tuple, whatever its class makes of brackets. */
static PyObject *item_at(PyObject *tuple, Py_ssize_t at) {
    if (at >= PyTuple_GET_SIZE(tuple)) {
        PyErr_SetString(PyExc_IndexError, "tuple index out of range");
        return NULL;
    }
    PyObject *item = PyTuple_GET_ITEM(tuple, at);
    Py_INCREF(item);
    return item;
}
