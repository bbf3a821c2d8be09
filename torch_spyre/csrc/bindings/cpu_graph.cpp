#include "bindings/cpu_graph.h"

#include "aten/cpu_alias.h"
#include "bindings/python_objects.h"
#include "runtime/current.h"
#include "runtime/stream.h"

namespace spyre::bindings {
namespace {

// lend_to_card(args, index): replaces each CPU tensor of the list by a spyre tensor over the same
// memory.
PyObject* lend_to_card(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&]() -> PyObject* {
    if (nargs != 2 || !PyList_Check(args[0])) {
      PyErr_SetString(PyExc_TypeError, "lend_to_card(list of arguments, device_index)");
      throw PythonError{};
    }
    const c10::Device card(c10::DeviceType::PrivateUse1,
                           static_cast<c10::DeviceIndex>(as_int(args[1])));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(args[0]); ++i) {
      const at::Tensor* tensor = as_tensor(PyList_GET_ITEM(args[0], i));
      if (tensor == nullptr || !tensor->device().is_cpu()) continue;
      PyObject* lent = THPVariable_Wrap(aten::adopt_cpu_tensor(*tensor, card));
      if (lent == nullptr) throw PythonError{};
      PyList_SetItem(args[0], i, lent);
    }
    Py_RETURN_NONE;
  });
}

// give_to_host(outputs, index): waits for the card's current stream, raises its error, and returns
// the outputs with each spyre tensor replaced by a CPU tensor that owns its memory.
PyObject* give_to_host(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&]() -> PyObject* {
    if (nargs != 2 || !PyTuple_Check(args[0])) {
      PyErr_SetString(PyExc_TypeError, "give_to_host(tuple of outputs, device_index)");
      throw PythonError{};
    }
    runtime::synchronize(runtime::current_stream(static_cast<c10::DeviceIndex>(as_int(args[1]))));
    const Py_ssize_t count = PyTuple_GET_SIZE(args[0]);
    PyObject* outputs = PyTuple_New(count);
    if (outputs == nullptr) throw PythonError{};
    for (Py_ssize_t i = 0; i < count; ++i) {
      PyObject* output = PyTuple_GET_ITEM(args[0], i);
      const at::Tensor* tensor = as_tensor(output);
      if (tensor != nullptr && aten::is_spyre(*tensor)) {
        output = THPVariable_Wrap(aten::share_as_cpu(*tensor));
      } else {
        Py_INCREF(output);
      }
      PyTuple_SET_ITEM(outputs, i, output);
    }
    return outputs;
  });
}

PyMethodDef methods[] = {
    {"lend_to_card", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(lend_to_card)),
     METH_FASTCALL, "lend_to_card(list of arguments, device_index)"},
    {"give_to_host", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(give_to_host)),
     METH_FASTCALL, "give_to_host(tuple of outputs, device_index) -> tuple"},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool add_cpu_graph(PyObject* module) { return PyModule_AddFunctions(module, methods) == 0; }

}  // namespace spyre::bindings
