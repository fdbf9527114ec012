/* The function of hot_tables.py that is C when it is compiled. */

#include <Python.h>

/* Whether the type of a value is one of IMMUTABLE. */
static int cannot_change(PyObject *value) {
    PyTypeObject *type = Py_TYPE(value);
    return type == &PyUnicode_Type || type == &PyLong_Type || type == &PyFloat_Type
        || type == &PyBytes_Type || type == &PyBool_Type || value == Py_None
        || type == &PyComplex_Type || type == &PyFrozenSet_Type;
}
