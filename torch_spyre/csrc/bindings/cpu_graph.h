// Python side of CPU models on the card: _C.lend_to_card, _C.give_to_host.
#pragma once
#include <Python.h>

namespace spyre::bindings {

// Adds both functions to the extension module; false with a Python error set on failure.
bool add_cpu_graph(PyObject* module);

}  // namespace spyre::bindings
