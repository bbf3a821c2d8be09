// Reading Python objects in C functions: tensors, integers, strings, dtypes, sequences.
//
// A function that finds a wrong object sets a Python error and throws PythonError; guarded() turns
// every exception into a Python one.
#pragma once
#include <ATen/core/Tensor.h>
#include <Python.h>

#include <cstdint>
#include <stdexcept>
#include <string>

// Declared here because torch/csrc/autograd/python_variable.h costs 26 s of compile time.
extern PyObject* THPVariableClass;
PyObject* THPVariable_Wrap(const at::TensorBase& tensor);

namespace spyre::bindings {

// A Python error is already set.
struct PythonError {};

// Sets the Python error of the exception being handled. Knows LaunchMismatch and LoadFailure.
void set_python_error();

// Runs `body` and returns its object; nullptr with a Python error set when it throws.
template <class F>
PyObject* guarded(F body) {
  try {
    return body();
  } catch (...) {
    set_python_error();
  }
  return nullptr;
}

// Classes that LaunchMismatch and LoadFailure become; RuntimeError until this is called.
void set_launch_error_classes(PyObject* launch, PyObject* load);

struct TensorObject {  // head of torch/csrc/autograd/python_variable.h: THPVariable
  PyObject_HEAD at::Tensor tensor;
};

// nullptr when the object is no tensor.
inline const at::Tensor* as_tensor(PyObject* object) {
  if (!PyType_IsSubtype(Py_TYPE(object), reinterpret_cast<PyTypeObject*>(THPVariableClass)))
    return nullptr;
  return &reinterpret_cast<TensorObject*>(object)->tensor;
}

inline std::int64_t as_int(PyObject* object) {
  const std::int64_t value = PyLong_AsLongLong(object);
  if (value == -1 && PyErr_Occurred()) throw PythonError{};
  return value;
}

double as_double(PyObject* object);
std::string as_string(PyObject* object);
at::ScalarType as_dtype(PyObject* object);
// Item of a tuple; TypeError when it is none or too short.
PyObject* item(PyObject* tuple, Py_ssize_t index);

// Calls body(item) for each item of a sequence.
template <class F>
void for_each(PyObject* sequence, F body) {
  PyObject* fast = PySequence_Fast(sequence, "expected a sequence");
  if (fast == nullptr) throw PythonError{};
  try {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast); ++i)
      body(PySequence_Fast_GET_ITEM(fast, i));
  } catch (...) {
    Py_DECREF(fast);
    throw;
  }
  Py_DECREF(fast);
}

}  // namespace spyre::bindings
