// Python side of launch plans: _C.make_launch_plan.
#pragma once
#include <Python.h>

namespace spyre::bindings {

// Adds the function to the extension module; false with a Python error set on failure.
bool add_launch_plan(PyObject* module);

}  // namespace spyre::bindings
