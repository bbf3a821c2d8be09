// Counters of the eager operators.
#include <pybind11/pybind11.h>

#include "aten/operator_record.h"
#include "bindings/bindings.h"

namespace py = pybind11;

namespace spyre::bindings {

bool bind_operators(PyObject* object) {
  auto module = py::reinterpret_borrow<py::module_>(object);
  // [(name, calls run on the calling thread, calls queued, calls that waited for the stream)]
  module.def("operator_counters", [] {
    py::list rows;
    for (const aten::OperatorCounter& counter : aten::operator_counters()) {
      rows.append(py::make_tuple(counter.name, counter.inlined, counter.queued, counter.waited));
    }
    return rows;
  });
  module.def("reset_operator_counters", &aten::reset_operator_counters);
  return true;
}

}  // namespace spyre::bindings
