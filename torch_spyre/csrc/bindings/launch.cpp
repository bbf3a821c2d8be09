#include "bindings/launch.h"

#include <c10/util/SmallVector.h>

#include <cstring>
#include <memory>

#include "bindings/cpu_graph.h"
#include "bindings/kernel_object.h"
#include "bindings/launch_plan.h"
#include "bindings/python_objects.h"
#include "runtime/launch.h"

namespace spyre::bindings {
namespace {

constexpr const char* kModuleCapsule = "spyre.device.Module";

// --- Kernel object ------------------------------------------------------------------------------

std::int64_t scalar_bits(PyObject* object, const runtime::ScalarSpec& spec) {
  if (!spec.is_float) return as_int(object);
  const double value = as_double(object);
  std::int64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

PyObject* call_kernel(PyObject* self, PyObject* const* args, std::size_t nargsf,
                      PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    const runtime::Kernel& kernel = *reinterpret_cast<KernelObject*>(self)->kernel;
    const runtime::KernelSpec& spec = kernel.spec();
    const std::size_t given = static_cast<std::size_t>(PyVectorcall_NARGS(nargsf));
    const std::size_t buffer_count = spec.buffers.size(), scalar_count = spec.scalars.size();
    if (given != buffer_count + scalar_count || keywords != nullptr)
      throw runtime::LaunchMismatch(
          "kernel " + spec.name + ": expected " + std::to_string(buffer_count) + " tensors and " +
          std::to_string(scalar_count) + " sizes, got " + std::to_string(given) + " arguments");
    c10::SmallVector<void*, 16> buffers;
    buffers.resize(buffer_count + 1);  // the last slot is the workspace
    c10::SmallVector<const at::TensorBase*, 16> tensors;
    tensors.resize(buffer_count);
    c10::SmallVector<std::int64_t, 8> scalars;
    scalars.resize(scalar_count + 1);
    int device = -1;
    for (std::size_t i = 0; i < buffer_count; ++i) {
      tensors[i] = as_tensor(args[i]);
      if (tensors[i] == nullptr)
        throw runtime::LaunchMismatch("kernel " + spec.name + ", argument " + std::to_string(i) +
                                      " (" + spec.buffers[i].name + "): expected a tensor, got " +
                                      Py_TYPE(args[i])->tp_name);
      buffers[i] = kernel.check_tensor(i, *tensors[i], &device);
    }
    for (std::size_t i = 0; i < scalar_count; ++i)
      scalars[i] = scalar_bits(args[buffer_count + i], spec.scalars[i]);
    kernel.launch(device, buffers.data(), tensors.data(), scalars.data());
    Py_RETURN_NONE;
  });
}

void kernel_dealloc(PyObject* self) {
  std::destroy_at(&reinterpret_cast<KernelObject*>(self)->kernel);
  Py_TYPE(self)->tp_free(self);
}

PyObject* kernel_repr(PyObject* self) {
  const auto& spec = reinterpret_cast<KernelObject*>(self)->kernel->spec();
  return PyUnicode_FromFormat("<spyre kernel %s: %zu tensors, %zu sizes, %d cores>",
                              spec.name.c_str(), spec.buffers.size(), spec.scalars.size(),
                              spec.cores);
}

PyTypeObject kernel_type = {
    PyVarObject_HEAD_INIT(nullptr, 0) "torch_spyre._C.Kernel",
};

bool ready_kernel_type() {
  kernel_type.tp_basicsize = sizeof(KernelObject);
  kernel_type.tp_dealloc = kernel_dealloc;
  kernel_type.tp_repr = kernel_repr;
  kernel_type.tp_call = PyVectorcall_Call;
  kernel_type.tp_vectorcall_offset = offsetof(KernelObject, vectorcall);
  kernel_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL;
  kernel_type.tp_doc = "A compiled kernel: call it with its tensors, then its sizes.";
  return PyType_Ready(&kernel_type) == 0;
}

// --- module functions ---------------------------------------------------------------------------

void destroy_module_capsule(PyObject* capsule) {
  delete static_cast<std::shared_ptr<device::Module>*>(
      PyCapsule_GetPointer(capsule, kModuleCapsule));
}

PyObject* load_module(PyObject*, PyObject* path) {
  return guarded([&] {
    auto* module = new std::shared_ptr<device::Module>(runtime::load_module(as_string(path)));
    return PyCapsule_New(module, kModuleCapsule, destroy_module_capsule);
  });
}

// make_kernel(module, name, buffers, scalars, cores, cores_fixed, workspace_bytes, checks, points,
//             ns_per_point)
PyObject* make_kernel(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    if (PyTuple_GET_SIZE(args) != 10) {
      PyErr_SetString(PyExc_TypeError, "make_kernel takes 10 arguments");
      throw PythonError{};
    }
    auto* module = static_cast<std::shared_ptr<device::Module>*>(
        PyCapsule_GetPointer(item(args, 0), kModuleCapsule));
    if (module == nullptr) throw PythonError{};
    runtime::KernelSpec spec;
    spec.name = as_string(item(args, 1));
    for_each(item(args, 2), [&](PyObject* buffer) {
      spec.buffers.push_back({as_string(item(buffer, 0)), as_dtype(item(buffer, 1))});
    });
    for_each(item(args, 3), [&](PyObject* scalar) {
      spec.scalars.push_back({as_string(item(scalar, 0)), item(scalar, 1) == Py_True});
    });
    spec.cores = static_cast<int>(as_int(item(args, 4)));
    spec.cores_fixed = item(args, 5) == Py_True;
    spec.workspace_bytes = as_int(item(args, 6));
    for_each(item(args, 7), [&](PyObject* text) { spec.checks.push_back(as_string(text)); });
    std::vector<std::int64_t> code;
    for_each(item(args, 8), [&](PyObject* value) { code.push_back(as_int(value)); });
    spec.points = runtime::IntProgram(std::move(code), spec.scalars.size());
    spec.ns_per_point = as_double(item(args, 9));
    auto kernel = std::make_shared<const runtime::Kernel>(*module, std::move(spec));
    auto* self = PyObject_New(KernelObject, &kernel_type);
    if (self == nullptr) throw PythonError{};
    self->vectorcall = call_kernel;
    new (&self->kernel) std::shared_ptr<const runtime::Kernel>(std::move(kernel));
    return reinterpret_cast<PyObject*>(self);
  });
}

using Sizes = c10::SmallVector<std::int64_t, 8>;

Sizes as_sizes(PyObject* tuple) {
  Sizes sizes;
  if (!PyTuple_CheckExact(tuple)) {
    for_each(tuple, [&](PyObject* value) { sizes.push_back(as_int(value)); });
    return sizes;
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i)
    sizes.push_back(as_int(PyTuple_GET_ITEM(tuple, i)));
  return sizes;
}

// empty_strided(size, stride, dtype, device_index)
PyObject* empty_strided(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&]() -> PyObject* {
    if (nargs != 4) {
      PyErr_SetString(PyExc_TypeError, "empty_strided(size, stride, dtype, device_index)");
      throw PythonError{};
    }
    const Sizes sizes = as_sizes(args[0]), strides = as_sizes(args[1]);
    return THPVariable_Wrap(runtime::empty_strided(sizes, strides, as_dtype(args[2]),
                                                   static_cast<int>(as_int(args[3]))));
  });
}

// set_launch_errors(LaunchError, LoadError)
PyObject* set_launch_errors(PyObject*, PyObject* args) {
  PyObject *launch = nullptr, *load = nullptr;
  if (!PyArg_ParseTuple(args, "OO", &launch, &load)) return nullptr;
  set_launch_error_classes(launch, load);
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"load_module", load_module, METH_O, "load_module(path) -> module handle"},
    {"make_kernel", make_kernel, METH_VARARGS,
     "make_kernel(module, name, buffers, scalars, cores, cores_fixed, workspace_bytes, checks, "
     "points, ns_per_point) -> Kernel"},
    {"empty_strided", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(empty_strided)),
     METH_FASTCALL, "empty_strided(size, stride, dtype, device_index) -> Tensor"},
    {"set_launch_errors", set_launch_errors, METH_VARARGS,
     "set_launch_errors(LaunchError, LoadError)"},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

std::shared_ptr<const runtime::Kernel> as_kernel(PyObject* object) {
  if (Py_TYPE(object) != &kernel_type) {
    PyErr_Format(PyExc_TypeError, "expected a kernel, got %R", object);
    throw PythonError{};
  }
  return reinterpret_cast<KernelObject*>(object)->kernel;
}

bool add_launch(PyObject* module) {
  return ready_kernel_type() && PyModule_AddFunctions(module, methods) == 0 &&
         add_launch_plan(module) && add_cpu_graph(module);
}

}  // namespace spyre::bindings
