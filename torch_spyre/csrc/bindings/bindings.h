// The functions that fill torch_spyre._C, one per file. Each returns false with a Python error set.
#pragma once
#include <Python.h>

namespace spyre::bindings {

bool bind_device(PyObject* module);
bool bind_stream(PyObject* module);
bool bind_memory(PyObject* module);
bool bind_memory_stats(PyObject* module);
bool bind_memory_history(PyObject* module);
bool bind_random(PyObject* module);
bool bind_operators(PyObject* module);
bool bind_shared_memory(PyObject* module);
bool bind_tunable(PyObject* module);

}  // namespace spyre::bindings
