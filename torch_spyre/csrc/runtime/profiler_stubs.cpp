// The older profiler interfaces: per-operator device times from events (use_kineto=False), and
// marker mode (ProfilerState.PRIVATEUSE1), whose callback torch calls without a check for null.
#include <ATen/record_function.h>
#include <c10/util/ApproximateClock.h>
#include <torch/csrc/profiler/standalone/privateuse1_observer.h>
#include <torch/csrc/profiler/stubs/base.h>

#include <memory>
#include <utility>

#include "device/event.h"
#include "device/properties.h"
#include "runtime/profiler.h"
#include "runtime/stream.h"

namespace spyre::runtime {

namespace {

namespace impl = torch::profiler::impl;

class Stubs final : public impl::ProfilerStubs {
 public:
  void record(c10::DeviceIndex* index, impl::ProfilerVoidEventStub* event,
              std::int64_t* cpu_ns) const override {
    const device::StreamRef stream = current_stream();
    if (index != nullptr) {
      *index = static_cast<c10::DeviceIndex>(stream.device);
    }
    auto recorded = std::make_shared<device::Event>(stream.device, /*timing=*/true);
    if (cpu_ns != nullptr) {
      *cpu_ns = c10::getTime();
    }
    check(recorded->record(stream));
    *event = std::move(recorded);
  }

  // Microseconds; waits for both events.
  float elapsed(const impl::ProfilerVoidEventStub* from,
                const impl::ProfilerVoidEventStub* to) const override {
    const auto& start = *static_cast<const device::Event*>(from->get());
    const auto& end = *static_cast<const device::Event*>(to->get());
    check(start.synchronize());
    check(end.synchronize());
    double ms = 0;
    check(device::Event::elapsed_ms(start, end, &ms));
    return static_cast<float>(ms * 1000.0);
  }

  // Ranges reach a trace as record_function scopes already; there is no second tool to tell.
  void mark(const char*) const override {}
  void rangePush(const char*) const override {}
  void rangePop() const override {}
  bool enabled() const override { return true; }

  void onEachDevice(std::function<void(int)> op) const override {
    const int before = current_device();
    for (int card = 0; card < device::device_count(); ++card) {
      set_device(card);
      op(card);
    }
    set_device(before);
  }
  void synchronize() const override { check(device::synchronize_device(current_device())); }
};

class MarkerState final : public impl::ProfilerStateBase {
 public:
  explicit MarkerState(const impl::ProfilerConfig& config) : ProfilerStateBase(config) {}
  impl::ActiveProfilerType profilerType() override { return impl::ActiveProfilerType::PRIVATEUSE1; }
  void reportMemoryUsage(void*, std::int64_t, std::size_t, std::size_t, c10::Device) override {}
};

// Marker mode: operators enter and leave on the launching thread, so that a recording that is on
// (device::set_activity_sink) knows which operator made a launch.
void push_marker_callbacks(const impl::ProfilerConfig& config,
                           const std::unordered_set<at::RecordScope>& scopes) {
  auto state = std::make_shared<MarkerState>(config);
  MarkerState* kept = state.get();
  impl::ProfilerStateBase::push(std::move(state));
  kept->setCallbackHandle(at::addThreadLocalCallback(
      at::RecordFunctionCallback(
          [](const at::RecordFunction& fn) -> std::unique_ptr<at::ObserverContext> {
            enter_operator(fn.handle());
            return nullptr;
          },
          [](const at::RecordFunction&, at::ObserverContext*) { leave_operator(); })
          .needsIds(true)
          .scopes(scopes)));
}

}  // namespace

void register_profiler_stubs() {
  static auto* stubs = new Stubs();  // leaked: torch keeps the pointer for good
  impl::registerPrivateUse1Methods(stubs);
  impl::pushPRIVATEUSE1CallbacksStub.set_privateuse1_dispatch_ptr(push_marker_callbacks);
}

}  // namespace spyre::runtime
