// What belongs to a capture, and what makes it invalid.
//
// Note [Joined work]: every stream of a capture counts the works of all others that come before its
// next one, as a vector clock: an event carries the counts of its record, a wait takes the larger
// ones. At the end the captured stream must come after all works.
#include <algorithm>
#include <utility>

#include "card.h"
#include "graph_state.h"

namespace spyre::device {
namespace {

// All captures that are underway, for calls that name no stream. Lock order: this one last.
struct Underway {
  std::mutex mutex;
  std::vector<std::shared_ptr<Graph::State>> graphs;
  std::atomic<std::size_t> count{0};
};
Underway& underway() {
  static Underway* instance = new Underway;  // used until the process ends
  return *instance;
}

void take_larger(BranchCounts& counts, const BranchCounts& others) {
  if (counts.size() < others.size()) counts.resize(others.size());
  for (std::size_t i = 0; i < others.size(); ++i) counts[i] = std::max(counts[i], others[i]);
}

}  // namespace

Branch& Graph::State::branch_of(const StreamState& stream) {
  return *std::find_if(branches.begin(), branches.end(),
                       [&](const Branch& branch) { return branch.stream == &stream; });
}

Status Graph::State::invalid_status(const char* call) const {
  if (invalid.empty()) return Status::ok();
  return Status::error(
      StatusCode::kCaptureInvalidated,
      std::string(call) + ": operation failed due to a previous error during capture: " + invalid);
}

bool Graph::State::has_unjoined_work() const {
  const BranchCounts& joined = branches.front().after;
  for (std::size_t i = 1; i < branches.size(); ++i) {
    const std::uint64_t works = i < branches[i].after.size() ? branches[i].after[i] : 0;
    if (works > (i < joined.size() ? joined[i] : 0)) return true;
  }
  return false;
}

void join_capture(StreamState& stream, const std::shared_ptr<Graph::State>& graph) {
  stream.capture = graph;
  stream.word.fetch_or(StreamState::kCapturing, std::memory_order_release);
  stream.card->captures.fetch_add(1, std::memory_order_release);
  std::lock_guard lock(graph->mutex);
  graph->branches.push_back({&stream, {}});
}

Status capture_work(StreamState& stream, Engine engine, std::unique_ptr<Work> work) {
  Graph::State& graph = *stream.capture;
  std::lock_guard lock(graph.mutex);
  if (Status invalid = graph.invalid_status(work->name().c_str()); !invalid.is_ok()) return invalid;
  Branch& branch = graph.branch_of(stream);
  const auto own = static_cast<std::size_t>(&branch - graph.branches.data());
  if (branch.after.size() <= own) branch.after.resize(own + 1);
  ++branch.after[own];
  graph.works->push_back({engine, std::move(work)});
  return Status::ok();
}

BranchCounts capture_position(const StreamState& stream) {
  std::lock_guard lock(stream.capture->mutex);
  return stream.capture->branch_of(stream).after;
}

void capture_wait(StreamState& stream, const BranchCounts& position) {
  std::lock_guard lock(stream.capture->mutex);
  take_larger(stream.capture->branch_of(stream).after, position);
}

Status fail_capture(Graph::State& graph, Status error) {
  std::lock_guard lock(graph.mutex);
  if (graph.invalid.empty()) graph.invalid = error.message;
  return error;
}

void invalidate_capture(StreamRef ref, const std::string& reason) {
  Card* card = nullptr;
  StreamState* stream = nullptr;
  if (!find_stream(ref, &card, &stream).is_ok()) return;
  std::lock_guard lock(card->mutex);
  if (stream->capture == nullptr) return;
  (void)fail_capture(*stream->capture, Status::error(StatusCode::kCapture, reason));
}

void invalidate_captures_of(const Card& card, const std::string& reason) {
  std::vector<std::shared_ptr<Graph::State>> graphs;
  {
    std::lock_guard lock(underway().mutex);
    graphs = underway().graphs;
  }
  for (const auto& graph : graphs) {
    std::lock_guard lock(graph->mutex);
    const bool here =
        std::any_of(graph->branches.begin(), graph->branches.end(),
                    [&](const Branch& branch) { return branch.stream->card == &card; });
    if (here && graph->invalid.empty()) graph->invalid = reason;
  }
}

void remember_capture(std::shared_ptr<Graph::State> graph) {
  std::lock_guard lock(underway().mutex);
  underway().graphs.push_back(std::move(graph));
  underway().count.store(underway().graphs.size(), std::memory_order_release);
}

void forget_capture(const Graph::State* graph) {
  std::lock_guard lock(underway().mutex);
  std::erase_if(underway().graphs, [&](const auto& one) { return one.get() == graph; });
  underway().count.store(underway().graphs.size(), std::memory_order_release);
}

Status refuse_in_capture(const char* call) {
  if (underway().count.load(std::memory_order_acquire) == 0) return Status::ok();
  std::vector<std::shared_ptr<Graph::State>> graphs;
  {
    std::lock_guard lock(underway().mutex);
    graphs = underway().graphs;
  }
  Status status = Status::ok();
  for (const auto& graph : graphs) {
    std::lock_guard lock(graph->mutex);
    const bool own = graph->thread == std::this_thread::get_id();
    const bool forbids =
        graph->mode == CaptureMode::kGlobal || (graph->mode == CaptureMode::kThreadLocal && own);
    if (!forbids) continue;
    status = Status::error(StatusCode::kCapture,
                           std::string(call) +
                               ": operation not permitted when stream is capturing "
                               "(capture_error_mode=\"relaxed\" allows it)");
    if (graph->invalid.empty()) graph->invalid = status.message;
  }
  return status;
}

bool is_capturing(StreamRef ref) {
  Card* card = nullptr;
  StreamState* stream = nullptr;
  if (!find_stream(ref, &card, &stream).is_ok()) return false;
  return (stream->word.load(std::memory_order_acquire) & StreamState::kCapturing) != 0;
}

}  // namespace spyre::device
