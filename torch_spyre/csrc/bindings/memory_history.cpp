// Memory snapshots and traces as the dicts that torch.cuda._memory_viz reads.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>

#include "bindings/bindings.h"
#include "bindings/torch_python.h"
#include "device/properties.h"
#include "runtime/memory_history.h"

namespace py = pybind11;

namespace spyre::bindings {

namespace {

constexpr const char* kActions[] = {"alloc",         "free_requested", "free_completed",
                                    "segment_alloc", "segment_free",   "oom"};

// Collects places for frames, symbolizes all stacks at once, then fills the places.
class FramePlaces {
 public:
  void add(const py::dict& owner, const runtime::Stack& stack) {
    owner["frames"] = py::list();
    if (stack != nullptr) {
      owners_.push_back(owner);
      stacks_.push_back(stack.get());
      kept_.push_back(stack);
    }
  }
  void fill() {
    const std::vector<py::object> frames = torch::py_symbolize(stacks_);
    for (std::size_t i = 0; i < owners_.size(); ++i) {
      owners_[i]["frames"] = frames[i];
    }
  }

 private:
  std::vector<py::dict> owners_;
  std::vector<torch::CapturedTraceback*> stacks_;
  std::vector<runtime::Stack> kept_;
};

const char* state_name(const device::BlockInfo& block) {
  if (block.allocated) {
    return "active_allocated";
  }
  return block.active ? "active_awaiting_free" : "inactive";
}

py::dict block_dict(int device, const device::BlockInfo& from, FramePlaces* places) {
  py::dict to;
  to["address"] = from.address;
  to["size"] = from.size_bytes;
  to["requested_size"] = from.requested_bytes;
  to["state"] = state_name(from);
  places->add(to, from.active ? runtime::stack_of_block(device, from.address) : nullptr);
  return to;
}

py::dict segment_dict(int device, const device::SegmentInfo& from, FramePlaces* places) {
  py::dict to;
  to["device"] = device;
  to["address"] = from.address;
  to["total_size"] = from.total_bytes;
  to["allocated_size"] = from.allocated_bytes;
  to["active_size"] = from.active_bytes;
  to["requested_size"] = from.requested_bytes;
  to["stream"] = from.stream;
  to["segment_type"] = from.is_large ? "large" : "small";
  to["segment_pool_id"] = py::make_tuple(from.pool_id[0], from.pool_id[1]);
  to["is_expandable"] = false;
  to["frames"] = py::list();
  py::list blocks;
  for (const device::BlockInfo& block : from.blocks) {
    blocks.append(block_dict(device, block, places));
  }
  to["blocks"] = std::move(blocks);
  return to;
}

py::list memory_segments() {
  py::list result;
  FramePlaces places;
  for (int device = 0; device < device::device_count(); ++device) {
    for (const auto& segment : device::CachingAllocator::of(device).snapshot()) {
      result.append(segment_dict(device, segment, &places));
    }
  }
  places.fill();
  return result;
}

// One list per card.
py::list memory_traces() {
  py::list result;
  FramePlaces places;
  for (int device = 0; device < device::device_count(); ++device) {
    py::list entries;
    for (const runtime::TraceRecord& from : runtime::memory_trace(device)) {
      py::dict to;
      to["action"] = kActions[static_cast<int>(from.kind)];
      to[from.kind == runtime::TraceKind::kOom ? "device_free" : "addr"] = from.address;
      to["size"] = from.size_bytes;
      to["stream"] = from.stream;
      to["time_us"] = from.time_us;
      to["user_metadata"] = from.user_metadata;
      places.add(to, from.stack);
      entries.append(std::move(to));
    }
    result.append(std::move(entries));
  }
  places.fill();
  return result;
}

runtime::StackPolicy policy_of(const std::optional<std::string>& context) {
  if (!context) {
    return runtime::StackPolicy::kNever;
  }
  if (*context == "state") {
    return runtime::StackPolicy::kState;
  }
  return *context == "alloc" ? runtime::StackPolicy::kAlloc : runtime::StackPolicy::kAll;
}

void record_memory_history(const std::optional<std::string>& enabled,
                           const std::optional<std::string>& context, bool cpp_frames,
                           std::size_t max_entries, bool clear,
                           const std::vector<std::string>& skipped) {
  if (!enabled) {
    runtime::stop_memory_history();
    return;
  }
  runtime::HistoryOptions options;
  options.keep_trace = *enabled == "all";
  options.stacks = policy_of(context);
  options.cpp_frames = cpp_frames;
  options.max_entries = max_entries;
  for (std::size_t kind = 0; kind < std::size(kActions); ++kind) {
    if (std::find(skipped.begin(), skipped.end(), kActions[kind]) != skipped.end()) {
      options.skipped.insert(static_cast<int>(kind));
    }
  }
  runtime::start_memory_history(std::move(options), clear);
}

}  // namespace

bool bind_memory_history(PyObject* object) {
  auto module = py::reinterpret_borrow<py::module_>(object);
  module.def("set_memory_metadata", &runtime::set_memory_metadata);
  module.def("memory_metadata", &runtime::memory_metadata);
  module.def("memory_segments", &memory_segments);
  module.def("memory_traces", &memory_traces);
  module.def("record_memory_history", &record_memory_history);
  return true;
}

}  // namespace spyre::bindings
