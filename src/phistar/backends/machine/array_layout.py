"""Layout of NumPy's array objects as the entries read them, and the C functions of Python and NumPy they call."""

from __future__ import annotations

DATA, AXES, SHAPE, STRIDES, DTYPE, FLAGS, TYPE = 16, 24, 32, 40, 56, 64, 8  # where an array object has them, in bytes
PYTHON = (
    *("PyTuple_New", "PyTuple_SetItem", "PyTuple_GetItem", "PyTuple_Size", "Py_IncRef", "Py_DecRef"),
    *("PyEval_SaveThread", "PyEval_RestoreThread"),
)
NAMES = ("otherwise", "tuple", "array", "dtype", "empty", "new", "base", *PYTHON)  # what `context` holds
