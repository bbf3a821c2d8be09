#include "bindings/python_objects.h"

#include <torch/csrc/Dtype.h>

#include "runtime/launch.h"

namespace torch {
void translate_exception_to_python(const std::exception_ptr& error);
}

namespace spyre::bindings {
namespace {

PyObject* launch_error = nullptr;
PyObject* load_error = nullptr;

}  // namespace

void set_launch_error_classes(PyObject* launch, PyObject* load) {
  Py_INCREF(launch);
  Py_INCREF(load);
  Py_XDECREF(launch_error);
  Py_XDECREF(load_error);
  launch_error = launch;
  load_error = load;
}

void set_python_error() {
  try {
    throw;
  } catch (const PythonError&) {
  } catch (const runtime::LaunchMismatch& error) {
    PyErr_SetString(launch_error != nullptr ? launch_error : PyExc_RuntimeError, error.what());
  } catch (const runtime::LoadFailure& error) {
    PyErr_SetString(load_error != nullptr ? load_error : PyExc_RuntimeError, error.what());
  } catch (const std::invalid_argument& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (...) {
    torch::translate_exception_to_python(std::current_exception());
  }
}

double as_double(PyObject* object) {
  const double value = PyFloat_AsDouble(object);
  if (value == -1.0 && PyErr_Occurred()) throw PythonError{};
  return value;
}

std::string as_string(PyObject* object) {
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(object, &size);
  if (text == nullptr) throw PythonError{};
  return {text, static_cast<std::size_t>(size)};
}

at::ScalarType as_dtype(PyObject* object) {
  if (!THPDtype_Check(object)) {
    PyErr_Format(PyExc_TypeError, "expected a torch.dtype, got %R", object);
    throw PythonError{};
  }
  return reinterpret_cast<THPDtype*>(object)->scalar_type;
}

PyObject* item(PyObject* tuple, Py_ssize_t index) {
  PyObject* value = PyTuple_Check(tuple) ? PyTuple_GetItem(tuple, index) : nullptr;
  if (value == nullptr) {
    if (!PyErr_Occurred()) PyErr_Format(PyExc_TypeError, "expected a tuple, got %R", tuple);
    throw PythonError{};
  }
  return value;
}

}  // namespace spyre::bindings
