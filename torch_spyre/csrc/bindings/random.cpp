// The default generators as the Python objects that torch knows.
#include <pybind11/pybind11.h>

#include "bindings/bindings.h"
#include "bindings/torch_python.h"
#include "runtime/current.h"
#include "runtime/generator.h"

namespace py = pybind11;

namespace spyre::bindings {

bool bind_random(PyObject* object) {
  auto module = py::reinterpret_borrow<py::module_>(object);
  module.def("default_generator", [](int index) {
    const at::Generator& generator =
        runtime::default_generator(static_cast<c10::DeviceIndex>(index));
    if (generator.pyobj() != nullptr) {
      return py::reinterpret_borrow<py::object>(generator.pyobj());
    }
    return py::reinterpret_steal<py::object>(THPGenerator_initDefaultGenerator(generator));
  });
  module.def("generator_offset", [](int index) {
    return runtime::default_generator(static_cast<c10::DeviceIndex>(index)).get_offset();
  });
  module.def("set_generator_offset", [](int index, std::uint64_t offset) {
    at::Generator generator = runtime::default_generator(static_cast<c10::DeviceIndex>(index));
    generator.set_offset(offset);
  });
  return true;
}

}  // namespace spyre::bindings
