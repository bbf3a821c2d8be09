// Settings and results of tuned products; torch_spyre/tunable.py has the functions users call.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bindings/bindings.h"
#include "device/options.h"
#include "runtime/tunable.h"

namespace py = pybind11;

namespace spyre::bindings {
namespace {

using runtime::TunableSettings;

// Every setting by its name; an unknown one is a mistake of the caller in this package.
void set(const std::string& name, const py::object& value) {
  TunableSettings s = runtime::tunable_settings();
  if (name == "tuning") {
    s.tuning = value.cast<bool>();
  } else if (name == "record_untuned") {
    s.record_untuned = value.cast<bool>();
  } else if (name == "write_results") {
    s.write_results = value.cast<bool>();
  } else if (name == "verbose") {
    s.verbose = value.cast<bool>();
  } else if (name == "check_numerics") {
    s.check_numerics = value.cast<bool>();
  } else if (name == "tolerances") {
    s.tolerances = value.cast<std::optional<std::pair<double, double>>>();
  } else if (name == "max_tuning_ms") {
    s.max_tuning_ms = value.cast<std::int64_t>();
  } else if (name == "max_tuning_iterations") {
    s.max_tuning_iterations = value.cast<std::int64_t>();
  } else if (name == "max_warmup_ms") {
    s.max_warmup_ms = value.cast<std::int64_t>();
  } else if (name == "max_warmup_iterations") {
    s.max_warmup_iterations = value.cast<std::int64_t>();
  } else if (name == "rotating_bytes") {
    s.rotating_bytes = value.cast<std::int64_t>();
  } else if (name == "filename") {
    s.filename = value.cast<std::string>();
  } else if (name == "untuned_filename") {
    s.untuned_filename = value.cast<std::string>();
  } else {
    throw py::key_error(name);
  }
  runtime::set_tunable_settings(s);
}

py::dict settings() {
  const TunableSettings s = runtime::tunable_settings();
  py::dict all;
  all["tuning"] = s.tuning;
  all["record_untuned"] = s.record_untuned;
  all["write_results"] = s.write_results;
  all["max_tuning_ms"] = s.max_tuning_ms;
  all["max_tuning_iterations"] = s.max_tuning_iterations;
  all["rotating_bytes"] = runtime::rotating_buffer_bytes(s);
  all["filename"] = s.filename;
  all["untuned_filename"] = s.untuned_filename;
  return all;
}

py::tuple results() {
  py::list rows;
  for (const runtime::TunedResult& result : runtime::tuned_results()) {
    rows.append(py::make_tuple(result.key.name(), result.key.parameters(), result.solution->name,
                               result.milliseconds));
  }
  return py::tuple(rows);
}

py::tuple validators() {
  py::list rows;
  for (const auto& [name, value] : runtime::tunable_validators()) {
    rows.append(py::make_tuple(name, value));
  }
  return py::tuple(rows);
}

}  // namespace

bool bind_tunable(PyObject* object) {
  auto module = py::reinterpret_borrow<py::module_>(object);
  module.def("tunable_enable", [](bool on) { runtime::g_tunable.store(on); });
  module.def("tunable_is_enabled", &runtime::tunable_enabled);
  module.def("tunable_set", &set);
  module.def("tunable_settings", &settings);
  module.def("tunable_environment", &device::tunable_environment);
  module.def("tunable_set_package_version", &runtime::set_package_version);
  module.def("tunable_results", &results);
  module.def("tunable_validators", &validators);
  // Both return why the file was refused or not written; "" when all is well.
  module.def("tunable_read_file", &runtime::read_tuned_results);
  module.def("tunable_write_file", &runtime::write_tuned_results);
  return true;
}

}  // namespace spyre::bindings
