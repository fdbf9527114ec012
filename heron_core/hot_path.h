/* The function of hot_path.py that is C when it is compiled. */

#include <Python.h>

/* kind((key, …)), for a class that only has `tuple.__new__` without making a tuple twice. */
static PyObject *made_tuple(PyObject *kind, PyObject *key, PyObject *component, PyObject *stream,
                            PyObject *task, PyObject *values, PyObject *created, PyObject *roots) {
    PyObject *items[] = {key, component, stream, task, values, created, roots};
    enum { ITEMS = sizeof items / sizeof items[0] };
    PyTypeObject *type = (PyTypeObject *)kind;
    PyObject *made;
    if (PyType_Check(kind) && PyType_IsSubtype(type, &PyTuple_Type)
        && type->tp_new == PyTuple_Type.tp_new && type->tp_init == PyTuple_Type.tp_init
        && Py_TYPE(kind)->tp_call == PyType_Type.tp_call) {
        made = type->tp_alloc(type, ITEMS);
        for (int at = 0; made != NULL && at < ITEMS; at++) {
            Py_INCREF(items[at]);
            PyTuple_SET_ITEM(made, at, items[at]);
        }
        return made;
    }
    PyObject *whole = PyTuple_New(ITEMS);
    if (whole == NULL)
        return NULL;
    for (int at = 0; at < ITEMS; at++) {
        Py_INCREF(items[at]);
        PyTuple_SET_ITEM(whole, at, items[at]);
    }
    made = PyObject_CallOneArg(kind, whole);
    Py_DECREF(whole);
    return made;
}
