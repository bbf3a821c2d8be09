// The few functions of libtorch_python that the bindings call. Declared here because torch's own
// headers for them cost 26 s per file; importing the extension resolves (and so checks) them.
#pragma once
#include <pybind11/pybind11.h>

#include <exception>
#include <vector>

namespace at {
struct Generator;
}  // namespace at

namespace torch {
struct CapturedTraceback;
// A list of frame dicts (name, filename, line) per stack. Needs the GIL.
__attribute__((visibility("default"))) std::vector<pybind11::object> py_symbolize(
    std::vector<CapturedTraceback*>& stacks);
// Sets the Python error for a C++ exception, as torch's own functions do.
__attribute__((visibility("default"))) void translate_exception_to_python(
    const std::exception_ptr& error);
}  // namespace torch

// New reference to the torch.Generator of a default generator, which keeps it for good.
__attribute__((visibility("default"))) PyObject* THPGenerator_initDefaultGenerator(
    const at::Generator& generator);
