// Cards: count, current, properties, synchronisation.
#include <pybind11/pybind11.h>

#include "bindings/bindings.h"
#include "device/card.h"
#include "device/launch.h"
#include "device/properties.h"
#include "device/stream.h"
#include "device/synchronize.h"
#include "runtime/current.h"
#include "runtime/stream.h"

namespace py = pybind11;

namespace spyre::bindings {

namespace {

py::dict device_properties(int index) {
  runtime::check_device_index(index);
  const device::Properties& from = device::properties(index);
  py::dict to;
  to["name"] = from.name;
  to["major"] = from.major;
  to["minor"] = from.minor;
  to["total_memory"] = from.total_memory_bytes;
  to["multi_processor_count"] = from.core_count;
  to["lx_bytes_per_core"] = from.lx_bytes_per_core;
  to["stick_bytes"] = from.stick_bytes;
  to["uuid"] = from.uuid;
  return to;
}

}  // namespace

bool bind_device(PyObject* object) {
  auto module = py::reinterpret_borrow<py::module_>(object);
  module.def("is_initialized", &runtime::is_initialized);
  module.def("initialize", &runtime::initialize);
  module.def("in_bad_fork", &runtime::in_bad_fork);
  module.def("device_count", &device::device_count);
  module.def("team_size", &device::team_size);
  module.def("current_device", &runtime::current_device);
  module.def("exchange_device", &runtime::exchange_device);
  module.def("maybe_exchange_device", &runtime::maybe_exchange_device);
  module.def("device_properties", &device_properties);
  module.def("synchronize_device", [](int index) {
    runtime::check_device_index(index);
    runtime::check(device::synchronize_device(index));
  });
  // Entries that wait in the card's queues; never waits itself.
  module.def("drain_at_exit", [](int index, double seconds) {
    device::Status status;
    {
      const py::gil_scoped_release released;
      status = device::drain_at_exit(index, static_cast<std::int64_t>(seconds * 1e9));
    }
    runtime::check(status);
  });
  module.def("queued_work", [](int index) {
    const device::Card* card = device::find_card(index);
    return card == nullptr ? 0 : card->queued.load(std::memory_order_acquire);
  });
  // Nanoseconds that the compute and the copy engine have worked since the process began.
  module.def("engine_busy_ns", [](int index) {
    runtime::check_device_index(index);
    const auto& engines = device::find_card(index)->engines;
    return py::make_tuple(engines[static_cast<int>(device::Engine::kCompute)].busy_until_now_ns(),
                          engines[static_cast<int>(device::Engine::kDma)].busy_until_now_ns());
  });
  module.def("set_sync_debug_mode", [](int mode) {
    runtime::g_sync_debug_mode = static_cast<runtime::SyncDebugMode>(mode);
  });
  module.def("sync_debug_mode", [] { return static_cast<int>(runtime::g_sync_debug_mode.load()); });
  return true;
}

}  // namespace spyre::bindings
