#include "bindings/launch_plan.h"

#include <memory>
#include <utility>

#include "aten/cpu_alias.h"
#include "bindings/kernel_object.h"
#include "bindings/python_objects.h"
#include "runtime/launch_plan.h"

namespace spyre::bindings {
namespace {

using runtime::ExternArgument;
using runtime::IntProgram;

// --- reading the nested tuples of spyre_inductor/launch/launch_plan.py ---------------------------

std::int32_t as_index(PyObject* object) { return static_cast<std::int32_t>(as_int(object)); }

std::vector<std::int32_t> as_indices(PyObject* sequence) {
  std::vector<std::int32_t> out;
  for_each(sequence, [&](PyObject* value) { out.push_back(as_index(value)); });
  return out;
}

IntProgram as_program(PyObject* sequence, std::size_t symbols) {
  std::vector<std::int64_t> code;
  for_each(sequence, [&](PyObject* value) { code.push_back(as_int(value)); });
  return {std::move(code), symbols};
}

std::vector<IntProgram> as_programs(PyObject* sequence, std::size_t symbols) {
  std::vector<IntProgram> out;
  for_each(sequence, [&](PyObject* code) { out.push_back(as_program(code, symbols)); });
  return out;
}

c10::IValue as_constant(PyObject* value) {
  if (value == Py_None) return {};
  if (PyBool_Check(value)) return value == Py_True;
  if (PyLong_Check(value)) return as_int(value);
  if (PyFloat_Check(value)) return as_double(value);
  if (PyUnicode_Check(value)) return as_string(value);
  return static_cast<std::int64_t>(as_dtype(value));
}

// (0, slot) | (1, size) | (2, constant) | (3, items) | (4,) the CPU device
ExternArgument as_argument(PyObject* tuple) {
  ExternArgument argument;
  switch (as_int(item(tuple, 0))) {
    case 0:
      argument.kind = ExternArgument::Kind::kSlot;
      argument.slot = as_index(item(tuple, 1));
      break;
    case 1:
      argument.kind = ExternArgument::Kind::kSize;
      argument.size = as_index(item(tuple, 1));
      break;
    case 2:
      argument.constant = as_constant(item(tuple, 1));
      break;
    case 3:
      argument.kind = ExternArgument::Kind::kList;
      for_each(item(tuple, 1),
               [&](PyObject* value) { argument.items.push_back(as_argument(value)); });
      break;
    default:
      argument.constant = c10::IValue(c10::Device(c10::DeviceType::CPU));
  }
  return argument;
}

// (0, kernel, slots, sizes, barrier) | (1, name, overload, arguments, results) | (2, slot)
runtime::StepSpec as_step(PyObject* tuple) {
  switch (as_int(item(tuple, 0))) {
    case 0:
      return runtime::KernelCall{as_kernel(item(tuple, 1)), as_indices(item(tuple, 2)),
                                 as_indices(item(tuple, 3)), item(tuple, 4) == Py_True};
    case 1: {
      std::vector<ExternArgument> arguments;
      for_each(item(tuple, 3), [&](PyObject* value) { arguments.push_back(as_argument(value)); });
      std::vector<runtime::ExternResult> results;
      for_each(item(tuple, 4), [&](PyObject* result) {
        results.push_back({as_index(item(result, 0)), as_indices(item(result, 1))});
      });
      return std::make_shared<const runtime::ExternCall>(as_string(item(tuple, 1)),
                                                         as_string(item(tuple, 2)),
                                                         std::move(arguments), std::move(results));
    }
    default:
      return runtime::SeedCall{as_index(item(tuple, 1))};
  }
}

runtime::LaunchPlanSpec as_spec(PyObject* args) {
  runtime::LaunchPlanSpec spec;
  spec.name = as_string(item(args, 0));
  spec.device = static_cast<int>(as_int(item(args, 1)));
  spec.cpu_resident = item(args, 2) == Py_True;
  spec.input_count = static_cast<std::size_t>(as_int(item(args, 3)));
  for_each(item(args, 4), [&](PyObject* source) {
    spec.size_sources.push_back({as_index(item(source, 0)),
                                 static_cast<runtime::SizeSource::Kind>(as_int(item(source, 1))),
                                 as_index(item(source, 2))});
  });
  const std::size_t symbols = spec.size_sources.size();
  spec.sizes = as_programs(item(args, 5), symbols);
  for_each(item(args, 6), [&](PyObject* memory) {
    spec.memories.push_back({static_cast<runtime::MemorySpec::Source>(as_int(item(memory, 0))),
                             as_index(item(memory, 1)), as_program(item(memory, 2), symbols)});
  });
  for_each(item(args, 7), [&](PyObject* slot) {
    spec.slots.push_back({as_string(item(slot, 0)), as_index(item(slot, 1)),
                          as_dtype(item(slot, 2)), as_programs(item(slot, 3), symbols),
                          as_programs(item(slot, 4), symbols), as_program(item(slot, 5), symbols)});
  });
  for_each(item(args, 8), [&](PyObject* step) { spec.steps.push_back(as_step(step)); });
  for_each(item(args, 9), [&](PyObject* output) {
    spec.outputs.push_back({static_cast<runtime::OutputSpec::Kind>(as_int(item(output, 0))),
                            as_index(item(output, 1))});
  });
  return spec;
}

// --- the object ---------------------------------------------------------------------------------

struct PlanObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  runtime::LaunchPlan* plan;  // null until the first call of a deferred plan
  PyObject* make;             // of a deferred plan: returns the plan itself
};

PyObject* as_python(const runtime::CallOutput& output, PyObject* inputs, bool cpu_resident) {
  using Kind = runtime::OutputSpec::Kind;
  switch (output.kind) {
    case Kind::kTensor:
      return THPVariable_Wrap(cpu_resident ? aten::share_as_cpu(output.tensor) : output.tensor);
    case Kind::kInput: {
      PyObject* input = PyList_GetItem(inputs, output.value);
      Py_XINCREF(input);
      return input;
    }
    case Kind::kSize:
      return PyLong_FromLongLong(output.value);
    default:
      Py_RETURN_NONE;
  }
}

// plan(inputs): a list of the graph's inputs and constants; empties it, as the wrapper does.
PyObject* call_plan(PyObject* self, PyObject* const* args, std::size_t nargsf, PyObject*) {
  return guarded([&]() -> PyObject* {
    const runtime::LaunchPlan& plan = *reinterpret_cast<PlanObject*>(self)->plan;
    if (PyVectorcall_NARGS(nargsf) != 1 || !PyList_Check(args[0])) {
      PyErr_SetString(PyExc_TypeError, "a launch plan takes one list of inputs");
      throw PythonError{};
    }
    PyObject* list = args[0];
    const Py_ssize_t count = PyList_GET_SIZE(list);
    std::vector<runtime::CallInput> inputs(static_cast<std::size_t>(count));
    for (Py_ssize_t i = 0; i < count; ++i) {
      PyObject* object = PyList_GET_ITEM(list, i);
      runtime::CallInput& input = inputs[static_cast<std::size_t>(i)];
      input.tensor = as_tensor(object);
      if (input.tensor == nullptr && PyLong_Check(object)) input.value = as_int(object);
    }
    const std::vector<runtime::CallOutput> outputs = plan.call(inputs);
    PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(outputs.size()));
    if (tuple == nullptr) throw PythonError{};
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      PyObject* output = as_python(outputs[i], list, plan.spec().cpu_resident);
      if (output == nullptr) {
        Py_DECREF(tuple);
        throw PythonError{};
      }
      PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), output);
    }
    PyList_SetSlice(list, 0, count, nullptr);
    return tuple;
  });
}

// The first call of a deferred plan: makes it, and from then on it is like any other.
PyObject* call_deferred_plan(PyObject* self, PyObject* const* args, std::size_t nargsf,
                             PyObject* names) {
  auto* deferred = reinterpret_cast<PlanObject*>(self);
  // Another thread may get here too while `make` waits for the compiler without the GIL.
  if (deferred->plan == nullptr) {
    PyObject* make = Py_NewRef(deferred->make);
    PyObject* made = PyObject_CallNoArgs(make);
    Py_DECREF(make);
    if (made == nullptr) return nullptr;
    if (Py_TYPE(made) != Py_TYPE(self) || reinterpret_cast<PlanObject*>(made)->plan == nullptr) {
      PyErr_Format(PyExc_TypeError, "a deferred plan made %R, not a launch plan", made);
      Py_DECREF(made);
      return nullptr;
    }
    if (deferred->plan == nullptr) {
      std::swap(deferred->plan, reinterpret_cast<PlanObject*>(made)->plan);
      deferred->vectorcall = call_plan;
      Py_CLEAR(deferred->make);
    }
    Py_DECREF(made);
  }
  return call_plan(self, args, nargsf, names);
}

void plan_dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  delete reinterpret_cast<PlanObject*>(self)->plan;
  Py_XDECREF(reinterpret_cast<PlanObject*>(self)->make);
  PyObject_GC_Del(self);
}

int plan_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(reinterpret_cast<PlanObject*>(self)->make);
  return 0;
}

int plan_clear(PyObject* self) {
  Py_CLEAR(reinterpret_cast<PlanObject*>(self)->make);
  return 0;
}

PyObject* plan_repr(PyObject* self) {
  if (reinterpret_cast<PlanObject*>(self)->plan == nullptr) {
    return PyUnicode_FromString("<spyre launch plan, made at its first call>");
  }
  const auto& spec = reinterpret_cast<PlanObject*>(self)->plan->spec();
  return PyUnicode_FromFormat("<spyre launch plan %s: %zu steps, %zu inputs, %zu outputs>",
                              spec.name.c_str(), spec.steps.size(), spec.input_count,
                              spec.outputs.size());
}

PyTypeObject plan_type = {
    PyVarObject_HEAD_INIT(nullptr, 0) "torch_spyre._C.LaunchPlan",
};

bool ready_plan_type() {
  plan_type.tp_basicsize = sizeof(PlanObject);
  plan_type.tp_dealloc = plan_dealloc;
  plan_type.tp_repr = plan_repr;
  plan_type.tp_call = PyVectorcall_Call;
  plan_type.tp_vectorcall_offset = offsetof(PlanObject, vectorcall);
  plan_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_HAVE_GC;
  plan_type.tp_traverse = plan_traverse;
  plan_type.tp_clear = plan_clear;
  plan_type.tp_doc = "A compiled graph: call it with the list of its inputs.";
  return PyType_Ready(&plan_type) == 0;
}

PyObject* new_plan(vectorcallfunc call, std::unique_ptr<runtime::LaunchPlan> plan, PyObject* make) {
  auto* self = PyObject_GC_New(PlanObject, &plan_type);
  if (self == nullptr) throw PythonError{};
  self->vectorcall = call;
  self->plan = plan.release();
  self->make = Py_XNewRef(make);
  PyObject_GC_Track(self);
  return reinterpret_cast<PyObject*>(self);
}

PyObject* make_launch_plan(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    auto plan = std::make_unique<runtime::LaunchPlan>(as_spec(args));
    return new_plan(call_plan, std::move(plan), nullptr);
  });
}

PyObject* defer_launch_plan(PyObject*, PyObject* make) {
  return guarded([&] { return new_plan(call_deferred_plan, nullptr, make); });
}

PyMethodDef methods[] = {
    {"make_launch_plan", make_launch_plan, METH_VARARGS,
     "make_launch_plan(name, device, cpu_resident, input_count, size_sources, sizes, memories, "
     "slots, steps, outputs) -> LaunchPlan"},
    {"defer_launch_plan", defer_launch_plan, METH_O,
     "defer_launch_plan(make) -> LaunchPlan that make() makes at the first call"},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool add_launch_plan(PyObject* module) {
  return ready_plan_type() && PyModule_AddFunctions(module, methods) == 0;
}

}  // namespace spyre::bindings
