# C types of hot_columns.py, for the compiler alone.

cdef extern from "hot_columns.h":
    int fold_texts(
        object crcs, char letter, object data, object offsets, Py_ssize_t start, bint framed) except -1
    int fold_numbers(object crcs, object data, Py_ssize_t start, bint framed) except -1
    bint are_ascii(object data, object offsets, Py_ssize_t start, Py_ssize_t rows) except -1
    object ordered_by_slot(object crcs, Py_ssize_t slots)


cdef class ColumnKeys:
    cdef bytearray _crcs
    cdef bint _framed
