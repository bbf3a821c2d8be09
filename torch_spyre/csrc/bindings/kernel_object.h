// The Python object of a compiled kernel.
#pragma once
#include <Python.h>

#include <memory>

#include "runtime/launch.h"

namespace spyre::bindings {

struct KernelObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  std::shared_ptr<const runtime::Kernel> kernel;
};

// The kernel of a Kernel object. Throws PythonError (TypeError) for another object.
std::shared_ptr<const runtime::Kernel> as_kernel(PyObject* object);

}  // namespace spyre::bindings
