#ifndef USE_KINETO
#define USE_KINETO  // the wheel has it; its headers ask for the macro
#endif
#include "runtime/profiler.h"

#include <libkineto.h>
#include <output_base.h>
#include <torch/csrc/profiler/standalone/privateuse1_profiler.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "device/properties.h"

namespace spyre::runtime {

namespace {

using libkineto::ActivityType;

std::int64_t read_unix_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// One recording. The profiler makes a session when it prepares, starts and stops it once, and
// tells it of operators on the threads that run them.
class Session final : public libkineto::IActivityProfilerSession {
 public:
  void start() override {
    clock_.begin = ClockPair::now();
    start_activity_log();
    status_ = libkineto::TraceStatus::RECORDING;
  }
  void stop() override {
    records_ = stop_activity_log();
    clock_.end = ClockPair::now();
    status_ = libkineto::TraceStatus::PROCESSING;
  }
  std::vector<std::string> errors() override { return {}; }

  void processTrace(libkineto::ActivityLogger& logger) override {
    processTrace(
        logger, [](std::int32_t) { return nullptr; }, 0, std::numeric_limits<std::int64_t>::max());
  }
  void processTrace(libkineto::ActivityLogger& logger,
                    libkineto::getLinkedActivityCallback operator_activity, std::int64_t begin_ns,
                    std::int64_t end_ns) override {
    rows_ = trace_rows(records_, clock_, begin_ns, end_ns, operator_activity);
    for (const auto& row : rows_->activities) {
      row->log(logger);
    }
    for (int card = 0; card < device::device_count(); ++card) {
      logger.handleDeviceInfo({card, libkineto::kExceedMaxPid + card, device::properties(card).name,
                               "Spyre " + std::to_string(card)},
                              begin_ns);
    }
  }

  // Only one card fits into this answer; processTrace() names them all.
  std::unique_ptr<libkineto::DeviceInfo> getDeviceInfo() override { return nullptr; }
  std::vector<libkineto::ResourceInfo> getResourceInfos() override {
    std::set<std::pair<int, device::StreamId>> streams;
    std::set<std::pair<int, std::int32_t>> threads;
    for (const device::Activity& run : records_.runs) {
      streams.emplace(run.stream.device, run.stream.id);
      for (const device::CorePiece& piece : run.pieces) {
        threads.emplace(run.stream.device, piece.thread_id);
      }
    }
    std::vector<libkineto::ResourceInfo> infos;
    for (const auto& [card, stream] : streams) {
      infos.push_back({stream, stream, card, "stream " + std::to_string(stream)});
    }
    int number = 0;
    for (const auto& [card, thread] : threads) {
      const std::int32_t lane = lane_of(thread);
      infos.push_back({lane, lane, card, "cores, thread " + std::to_string(number++)});
    }
    return infos;
  }
  std::unique_ptr<libkineto::CpuTraceBuffer> getTraceBuffer() override { return std::move(rows_); }

  void pushCorrelationId(std::uint64_t id) override { enter_operator(id); }
  void popCorrelationId() override { leave_operator(); }
  void pushUserCorrelationId(std::uint64_t id) override { enter_range(id); }
  void popUserCorrelationId() override { leave_range(); }

  // The chrome trace's "deviceProperties", in the form that trace analysers read.
  std::string getDeviceProperties() override {
    std::string json;
    for (int card = 0; card < device::device_count(); ++card) {
      const device::Properties& card_is = device::properties(card);
      json += (card == 0 ? "" : ", ") + std::string("{\"id\": ") + std::to_string(card) +
              ", \"name\": \"" + card_is.name +
              "\", \"totalGlobalMem\": " + std::to_string(card_is.total_memory_bytes) +
              ", \"numSms\": " + std::to_string(card_is.core_count) +
              ", \"computeMajor\": " + std::to_string(card_is.major) +
              ", \"computeMinor\": " + std::to_string(card_is.minor) + "}";
    }
    return json;
  }

 private:
  ActivityRecords records_;
  TraceClock clock_;
  std::unique_ptr<libkineto::CpuTraceBuffer> rows_;
};

class Profiler final : public libkineto::IActivityProfiler {
 public:
  const std::string& name() const override { return name_; }
  const std::set<ActivityType>& availableActivities() const override { return activities_; }

  // No session, and so no recording, for a profile that did not ask for device rows.
  std::unique_ptr<libkineto::IActivityProfilerSession> configure(
      const std::set<ActivityType>& wanted, const libkineto::Config&) override {
    const bool any = std::any_of(wanted.begin(), wanted.end(), [](ActivityType type) {
      return type == ActivityType::CONCURRENT_KERNEL || type == ActivityType::GPU_MEMCPY;
    });
    return any ? std::make_unique<Session>() : nullptr;
  }
  std::unique_ptr<libkineto::IActivityProfilerSession> configure(
      std::int64_t, std::int64_t, const std::set<ActivityType>& wanted,
      const libkineto::Config& config) override {
    return configure(wanted, config);
  }

 private:
  const std::string name_ = "spyre";
  const std::set<ActivityType> activities_{
      ActivityType::CONCURRENT_KERNEL, ActivityType::GPU_MEMCPY, ActivityType::GPU_USER_ANNOTATION,
      ActivityType::PRIVATEUSE1_RUNTIME};
};

}  // namespace

// The tightest of a few readings: the thread may lose its core between the two clocks.
ClockPair ClockPair::now() {
  ClockPair best;
  std::int64_t best_width_ns = std::numeric_limits<std::int64_t>::max();
  for (int i = 0; i < 5; ++i) {
    const std::int64_t before_ns = device::now_ns();
    const std::int64_t between_ns = read_unix_ns();
    const std::int64_t width_ns = device::now_ns() - before_ns;
    if (width_ns < best_width_ns) {
      best_width_ns = width_ns;
      best = {before_ns + width_ns / 2, between_ns};
    }
  }
  return best;
}

std::int64_t TraceClock::to_unix(std::int64_t steady_ns) const {
  const std::int64_t since_ns = steady_ns - begin.steady_ns;
  const std::int64_t span_ns = end.steady_ns - begin.steady_ns;
  if (span_ns <= 0) {
    return begin.unix_ns + since_ns;
  }
  const std::int64_t drift_ns = (end.unix_ns - begin.unix_ns) - span_ns;
  const double share = static_cast<double>(since_ns) / static_cast<double>(span_ns);
  return begin.unix_ns + since_ns +
         static_cast<std::int64_t>(share * static_cast<double>(drift_ns));
}

void register_activity_profiler() {
  torch::profiler::impl::PrivateUse1ProfilerRegistry::instance().registerFactory(
      []() -> std::unique_ptr<libkineto::IActivityProfiler> {
        return std::make_unique<Profiler>();
      });
}

}  // namespace spyre::runtime
