// From records to trace rows. Ids, links and metadata keys are those of CUDA's rows, so that trace
// viewers and analysers read them unchanged.
#include "runtime/profiler.h"

#define FMT_HEADER_ONLY  // the wheel ships fmt's headers, not its symbols
#include <libkineto.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace spyre::runtime {

namespace {

using libkineto::ActivityType;
using libkineto::GenericTraceActivity;
using OperatorActivity = std::function<const libkineto::ITraceActivity*(std::int32_t)>;

// Launch ids live above the profiler's operator ids, which count from 1: torch looks both up in one
// table.
constexpr std::int32_t kFirstLaunchId = 0x40000000;

std::int32_t launch_id(std::uint64_t correlation) {
  return kFirstLaunchId | static_cast<std::int32_t>(correlation & (kFirstLaunchId - 1));
}

const char* engine_name(const device::Activity& run) {
  if (run.inline_run) {
    return "inline";
  }
  return run.engine == device::Engine::kDma ? "dma" : "compute";
}

const char* launch_name(const LaunchRecord& launch) {
  const bool copy = launch.engine == device::Engine::kDma;
  if (launch.inline_run) {
    return copy ? "spyreMemcpyInline" : "spyreRunInline";
  }
  return copy ? "spyreMemcpyAsync" : "spyreLaunchKernel";
}

class Rows {
 public:
  Rows(const ActivityRecords& records, const TraceClock& clock, std::int64_t begin_ns,
       std::int64_t end_ns, const OperatorActivity& operator_activity)
      : records_(records),
        clock_(clock),
        begin_ns_(begin_ns),
        end_ns_(end_ns),
        operator_activity_(operator_activity),
        buffer_(std::make_unique<libkineto::CpuTraceBuffer>()) {
    buffer_->span = libkineto::TraceSpan(begin_ns, end_ns, "Spyre");
    buffer_->gpuOpCount = static_cast<int>(records.runs.size());
  }

  std::unique_ptr<libkineto::CpuTraceBuffer> make() {
    std::unordered_map<std::uint64_t, const LaunchRecord*> launches;
    for (const LaunchRecord& launch : records_.launches) {
      launches.emplace(launch.correlation, &launch);
      add_launch(launch);
    }
    for (const device::Activity& run : records_.runs) {
      const auto found = launches.find(run.correlation);
      add_run(run, found == launches.end() ? nullptr : found->second);
    }
    add_ranges();
    return std::move(buffer_);
  }

 private:
  // Null when the row lies outside of the profiled time.
  GenericTraceActivity* add(ActivityType type, const std::string& name, std::int64_t from_ns,
                            std::int64_t to_ns) {
    const std::int64_t start = clock_.to_unix(from_ns);
    const std::int64_t end = clock_.to_unix(to_ns);
    if (end < begin_ns_ || start > end_ns_) {
      return nullptr;
    }
    buffer_->emplace_activity(buffer_->span, type, name);
    GenericTraceActivity& row = *buffer_->activities.back();
    row.startTime = start;
    row.endTime = std::max(end, start + 1);  // a row of no width is drawn as none
    return &row;
  }

  void link(GenericTraceActivity& row, const LaunchRecord& launch, bool is_launch) {
    row.flow.id = static_cast<std::uint32_t>(row.id);
    row.flow.type = libkineto::kLinkAsyncCpuGpu;
    row.flow.start = is_launch ? 1 : 0;
    if (launch.operator_id != 0) {
      row.linked = operator_activity_(static_cast<std::int32_t>(launch.operator_id));
      row.addMetadata("External id", launch.operator_id);
    }
  }

  void add_launch(const LaunchRecord& launch) {
    GenericTraceActivity* row =
        add(ActivityType::PRIVATEUSE1_RUNTIME, launch_name(launch), launch.begin_ns, launch.end_ns);
    if (row == nullptr) {
      return;
    }
    row->id = launch_id(launch.correlation);
    row->device = libkineto::processId();
    row->resource = launch.thread_id;
    row->threadId = launch.thread_id;
    row->addMetadata("correlation", row->id);
    link(*row, launch, true);
  }

  void add_run(const device::Activity& run, const LaunchRecord* launch) {
    const bool copy = run.engine == device::Engine::kDma;
    GenericTraceActivity* row =
        add(copy ? ActivityType::GPU_MEMCPY : ActivityType::CONCURRENT_KERNEL, run.name,
            run.started_ns, run.finished_ns);
    if (row == nullptr) {
      return;
    }
    row->id = launch_id(run.correlation);
    row->device = run.stream.device;
    row->resource = static_cast<std::int32_t>(run.stream.id);
    row->addMetadata("device", run.stream.device);
    row->addMetadata("stream", run.stream.id);
    row->addMetadata("correlation", row->id);
    row->addMetadataQuoted("engine", engine_name(run));
    if (!run.graph.empty()) {
      row->addMetadataQuoted("graph", run.graph);
    }
    if (!run.inline_run) {
      row->addMetadata("queued us", (run.started_ns - run.enqueued_ns) / 1000);
    }
    add_pieces(run);
    if (launch != nullptr) {
      link(*row, *launch, false);
      extend_ranges(*row, launch->range_id);
    }
  }

  // What each thread ran of a kernel, in a lane of its own. Annotations, so that their time is not
  // added to the kernel's.
  void add_pieces(const device::Activity& run) {
    for (const device::CorePiece& piece : run.pieces) {
      GenericTraceActivity* row = add(ActivityType::GPU_USER_ANNOTATION, "virtual cores",
                                      piece.started_ns, piece.finished_ns);
      if (row == nullptr) {
        continue;
      }
      row->id = launch_id(run.correlation);
      row->device = run.stream.device;
      row->resource = lane_of(piece.thread_id);
      row->addMetadataQuoted("kernel", run.name);
      row->addMetadata("first core", piece.first_core);
      row->addMetadata("last core", piece.last_core - 1);
    }
  }

  // The range and all that enclose it cover the row.
  void extend_ranges(const GenericTraceActivity& row, std::uint64_t range_id) {
    while (range_id != 0) {
      const auto key = std::make_tuple(row.device, row.resource, range_id);
      auto& span = ranges_.emplace(key, std::make_pair(row.startTime, row.endTime)).first->second;
      span.first = std::min(span.first, row.startTime);
      span.second = std::max(span.second, row.endTime);
      const auto parent = records_.range_parents.find(range_id);
      range_id = parent == records_.range_parents.end() ? 0 : parent->second;
    }
  }

  void add_ranges() {
    for (const auto& [key, span] : ranges_) {
      const auto& [card, stream, range_id] = key;
      const auto* range = operator_activity_(static_cast<std::int32_t>(range_id));
      if (range == nullptr) {
        continue;
      }
      buffer_->emplace_activity(buffer_->span, ActivityType::GPU_USER_ANNOTATION, range->name());
      GenericTraceActivity& row = *buffer_->activities.back();
      row.startTime = span.first;
      row.endTime = span.second;
      row.id = static_cast<std::int32_t>(range_id);
      row.device = card;
      row.resource = stream;  // not linked: a kernel's time would count for the range twice
    }
  }

  const ActivityRecords& records_;
  const TraceClock& clock_;
  const std::int64_t begin_ns_, end_ns_;
  const OperatorActivity& operator_activity_;
  std::unique_ptr<libkineto::CpuTraceBuffer> buffer_;
  std::map<std::tuple<std::int32_t, std::int32_t, std::uint64_t>,
           std::pair<std::int64_t, std::int64_t>>
      ranges_;
};

}  // namespace

std::unique_ptr<libkineto::CpuTraceBuffer> trace_rows(const ActivityRecords& records,
                                                      const TraceClock& clock,
                                                      std::int64_t begin_ns, std::int64_t end_ns,
                                                      const OperatorActivity& operator_activity) {
  return Rows(records, clock, begin_ns, end_ns, operator_activity).make();
}

}  // namespace spyre::runtime
