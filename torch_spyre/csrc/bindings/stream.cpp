// Streams by (device, id); the classes themselves are torch.Stream and torch.Event.
#include <c10/util/Exception.h>
#include <pybind11/pybind11.h>

#include <chrono>
#include <thread>

#include "bindings/bindings.h"
#include "device/event.h"
#include "device/graph.h"
#include "device/properties.h"
#include "device/stream.h"
#include "runtime/current.h"
#include "runtime/stream.h"

namespace py = pybind11;

namespace spyre::bindings {

namespace {

device::StreamRef stream_at(int index, device::StreamId id) {
  return runtime::from_c10(runtime::to_c10({index, id}));
}

// Arguments are torch.Event.event_id: the layer 0 event, or 0 before the first record.
double elapsed_ms(std::uintptr_t start, std::uintptr_t end) {
  TORCH_CHECK(start != 0 && end != 0,
              "Both events must be recorded before calculating elapsed time.");
  const auto& first = *reinterpret_cast<device::Event*>(start);
  const auto& last = *reinterpret_cast<device::Event*>(end);
  TORCH_CHECK(first.query() && last.query(),
              "Both events must be completed before calculating elapsed time.");
  double milliseconds = 0;
  const device::Status status = device::Event::elapsed_ms(first, last, &milliseconds);
  TORCH_CHECK(status.is_ok(), status.message);
  return milliseconds;
}

}  // namespace

bool bind_stream(PyObject* object) {
  auto module = py::reinterpret_borrow<py::module_>(object);
  module.def("current_stream_id", [](int index) {
    runtime::check_device_index(index);
    return runtime::current_stream(static_cast<c10::DeviceIndex>(index)).id;
  });
  module.def("set_current_stream", [](int index, device::StreamId id) {
    runtime::set_current_stream(stream_at(index, id));
  });
  module.def("stream_from_pool", [](int index, int priority) {
    runtime::initialize();
    runtime::check_device_index(index);
    return device::stream_from_pool(index, priority).id;
  });
  module.def("create_stream", [](int index, int priority) {
    runtime::initialize();
    runtime::check_device_index(index);
    return device::create_stream(index, priority).id;
  });
  module.def("destroy_stream", [](int index, device::StreamId id) {
    runtime::check(device::destroy_stream(stream_at(index, id)));
  });
  module.def("is_stream", [](int index, device::StreamId id) {
    return index >= 0 && index < device::device_count() && device::is_stream({index, id});
  });
  // The card's compute engine does nothing for so long.
  module.def("sleep", [](int index, device::StreamId id, std::int64_t nanoseconds) {
    runtime::enqueue_compute(stream_at(index, id), "sleep", [nanoseconds] {
      std::this_thread::sleep_for(std::chrono::nanoseconds(nanoseconds));
    });
  });
  module.def("stream_priority", [](int index, device::StreamId id) {
    return device::stream_priority(stream_at(index, id));
  });
  module.attr("PRIORITY_RANGE") = py::make_tuple(device::kLowestPriority, device::kHighestPriority);
  module.def("elapsed_ms", &elapsed_ms);
  module.def("is_capturing", [](int index, device::StreamId id) {
    return device::is_capturing(stream_at(index, id));
  });
  module.def("is_stream_idle",
             [](int index, device::StreamId id) { return device::is_idle(stream_at(index, id)); });
  return true;
}

}  // namespace spyre::bindings
