// Python side of kernel loading and launch: _C.load_module, _C.make_kernel, _C.empty_strided.
#pragma once
#include <Python.h>

namespace spyre::bindings {

// Adds the launch functions to the extension module; false with a Python error set on failure.
bool add_launch(PyObject* module);

}  // namespace spyre::bindings
