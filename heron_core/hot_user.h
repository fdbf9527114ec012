/* Attributes of a user's object that are read for each tuple, for hot_emit.py and hot_rows.py. */

#ifndef HOT_USER_H
#define HOT_USER_H

#include <Python.h>
#include <stdint.h>

/* Where an attribute is looked for: in the object's dict, then in what its class has. Python gives a
   class another version when it, or a base of it, changes; a class that finds attributes in its own
   way, or has a descriptor of the name, is asked in Python's way. */
struct attribute {
    const char *text;
    PyObject *name;
    unsigned int version; /* of the class that `of_class` is known of; 0: of none */
    PyObject *of_class;   /* borrowed: a class of the same version has it; NULL: it has none */
};

/* 0 for a class whose changes are not counted. */
static unsigned int version_of(PyTypeObject *type) {
#if defined(Py_GIL_DISABLED)
    return 0;
#elif PY_VERSION_HEX < 0x030D0000
    return PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG) ? type->tp_version_tag : 0;
#else
    return type->tp_version_tag;
#endif
}

/* Whether a class attribute is itself what is found, in each object without one of its own. */
static int is_no_descriptor(PyObject *found) {
    PyTypeObject *type = Py_TYPE(found);
    return type->tp_descr_get == NULL && type->tp_descr_set == NULL
        && !PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE);
}

static void know_class(struct attribute *attribute, PyTypeObject *type) {
    PyObject *found = _PyType_Lookup(type, attribute->name); /* the class has a version then */
    int is_usual = type->tp_getattro == PyObject_GenericGetAttr
        && (found == NULL || is_no_descriptor(found));
    attribute->version = is_usual ? version_of(type) : 0;
    attribute->of_class = found;
}

/* Its name, borrowed; NULL with an exception. */
static PyObject *name_of(struct attribute *attribute) {
    if (attribute->name == NULL)
        attribute->name = PyUnicode_InternFromString(attribute->text);
    return attribute->name;
}

/* A new reference; NULL with an exception. */
static PyObject *attribute_of(PyObject *object, struct attribute *attribute) {
    PyTypeObject *type = Py_TYPE(object);
    if (name_of(attribute) == NULL)
        return NULL;
    if (attribute->version == 0 || attribute->version != version_of(type))
        know_class(attribute, type);
    if (attribute->version != 0) {
        PyObject **own = _PyObject_GetDictPtr(object), *found = NULL;
        if (own != NULL && *own != NULL)
            found = PyDict_GetItemWithError(*own, attribute->name);
        if (found == NULL && PyErr_Occurred())
            return NULL;
        if (found == NULL)
            found = attribute->of_class;
        if (found != NULL)
            return Py_NewRef(found);
    }
    return PyObject_GetAttr(object, attribute->name);
}

/* --- what was found before --- */

/* What tells that an object and its class have the attributes that they had: Python numbers each
   change of a dict, of all dicts together. */
struct seen {
    uint64_t of_dict;
    unsigned int of_class; /* 0: nothing was seen */
};

/* 0 for an object whose changes are not counted. */
static uint64_t version_of_dict(PyObject *object) {
#if PY_VERSION_HEX < 0x030C0000
    PyObject **own = _PyObject_GetDictPtr(object);
    return own == NULL || *own == NULL ? 0 : ((PyDictObject *)*own)->ma_version_tag;
#else
    (void)object;
    return 0;
#endif
}

static int is_as_seen(const struct seen *seen, PyObject *object) {
    return seen->of_class != 0 && seen->of_class == version_of(Py_TYPE(object))
        && seen->of_dict == version_of_dict(object);
}

/* The object is seen as it is now, for an attribute that was found in the usual way. */
static void see(struct seen *seen, PyObject *object, const struct attribute *found) {
    seen->of_dict = version_of_dict(object);
    seen->of_class = seen->of_dict == 0 ? 0 : found->version;
}

/* Whether an attribute is true; -1 with an exception. */
static int is_true_of(PyObject *object, struct attribute *attribute) {
    PyObject *found = attribute_of(object, attribute);
    int is_true = found == NULL ? -1 : PyObject_IsTrue(found);
    Py_XDECREF(found);
    return is_true;
}

#endif
