// Note [Captured order]: a graph is the captured work in the order in which the host issued it,
// over the captured stream and all streams that joined through events. That order respects every
// event, because a wait is issued after its record, so replay needs neither events nor several
// engines. What happens while a capture is underway is in capture.cpp.
#include "graph.h"

#include <cxxabi.h>

#include <exception>
#include <utility>

#include "activity.h"
#include "card.h"
#include "executor.h"
#include "fork_guard.h"
#include "graph_state.h"
#include "stream_queue.h"

namespace spyre::device {
namespace {

Status capture_error(const std::string& message) {
  return Status::error(StatusCode::kCapture, message);
}

class GraphReplay final : public Work {
 public:
  GraphReplay(std::shared_ptr<CapturedWorks> works, StreamRef stream)
      : Work("graph_replay"), works_(std::move(works)), stream_(stream) {}

  bool reports_itself() const override { return true; }

  Status run() override {
    const bool report = activity_enabled();
    for (CapturedWork& captured : *works_) {
      const std::int64_t started_ns = report ? now_ns() : 0;
      Status status = run_one(*captured.work);
      if (!status.is_ok()) return status;
      if (report) {
        Activity activity;
        activity.name = captured.work->name();
        activity.stream = stream_;
        activity.engine = captured.engine;
        activity.correlation = running_correlation();
        activity.started_ns = activity.enqueued_ns = started_ns;
        activity.finished_ns = now_ns();
        report_activity(activity);
      }
    }
    return Status::ok();
  }

 private:
  // The engine would name the replay; the user needs the work.
  static Status run_one(Work& work) {
    Status status;
    try {
      status = work.run();
    } catch (const std::exception& error) {
      status = Status::error(StatusCode::kExternal, error.what());
    } catch (const abi::__forced_unwind&) {
      throw;  // see executor.cpp
    } catch (...) {
      status = Status::error(StatusCode::kExternal, "unknown C++ exception");
    }
    if (!status.is_ok()) status.message = "graph_replay: " + work.name() + ": " + status.message;
    return status;
  }

  std::shared_ptr<CapturedWorks> works_;
  StreamRef stream_;
};

}  // namespace

Graph::Graph() : state_(std::make_shared<State>()) {}

Graph::~Graph() {
  if (!forked_after_use()) end_capture(false);
}

Status Graph::capture_begin(StreamRef ref, MempoolId pool, CaptureMode mode) {
  Card* card = nullptr;
  StreamState* stream = nullptr;
  if (Status found = find_stream(ref, &card, &stream); !found.is_ok()) return found;
  std::lock_guard lock(card->mutex);
  if (stream->capture != nullptr) {
    return fail_capture(
        *stream->capture,
        Status::error(StatusCode::kIllegalState,
                      "capture_begin: the operation cannot be performed in the present "
                      "state: stream " +
                          std::to_string(ref.id) + " is capturing already"));
  }
  if (Status error = take_error(*stream); !error.is_ok()) return error;
  {
    std::lock_guard state_lock(state_->mutex);
    if (state_->capturing.load() || state_->works != nullptr) {
      return capture_error("capture_begin: this graph holds a capture; call reset() first");
    }
    state_->pool = pool == MempoolId{0, 0} ? new_mempool_id() : pool;
    state_->works = std::make_shared<CapturedWorks>();
    state_->mode = mode;
    state_->thread = std::this_thread::get_id();
    state_->invalid.clear();
    state_->capturing.store(true);
  }
  join_capture(*stream, state_);
  remember_capture(state_);
  return Status::ok();
}

Status Graph::capture_end() {
  if (forked_after_use()) return forked_status();
  std::vector<Branch> branches;
  Status status = Status::ok();
  {
    std::lock_guard lock(state_->mutex);
    if (!state_->capturing.load()) {
      return capture_error("capture_end: this graph is not capturing");
    }
    if (state_->mode != CaptureMode::kRelaxed && state_->thread != std::this_thread::get_id()) {
      return Status::error(StatusCode::kCaptureWrongThread,
                           "capture_end: this capture can only be ended by the thread that began "
                           "it (capture_error_mode=\"relaxed\" allows any)");
    }
    status = state_->invalid_status("capture_end");
    if (status.is_ok() && state_->has_unjoined_work()) {
      status = Status::error(StatusCode::kCaptureUnjoined,
                             "capture_end: capturing stream has unjoined work: a stream that "
                             "joined the capture must be waited for by the captured stream "
                             "(wait_stream) before it ends");
    }
  }
  end_capture(status.is_ok());
  return status;
}

// Sets the streams free; drops what was captured unless it is to be kept.
void Graph::end_capture(bool keep) {
  std::vector<Branch> branches;
  std::shared_ptr<CapturedWorks> dropped;
  {
    std::lock_guard lock(state_->mutex);
    if (!state_->capturing.exchange(false)) return;
    branches.swap(state_->branches);
    if (!keep) dropped.swap(state_->works);
  }
  forget_capture(state_.get());
  for (const Branch& branch : branches) {
    StreamState& stream = *branch.stream;
    std::lock_guard lock(stream.card->mutex);
    stream.capture.reset();
    stream.word.fetch_and(~StreamState::kCapturing, std::memory_order_release);
    stream.card->captures.fetch_sub(1, std::memory_order_release);
  }
}

Status Graph::replay(StreamRef stream) {
  std::shared_ptr<CapturedWorks> works;
  {
    std::lock_guard lock(state_->mutex);
    if (state_->capturing.load() || state_->works == nullptr) {
      return capture_error("replay: this graph has no finished capture");
    }
    works = state_->works;
  }
  return enqueue(stream, Engine::kCompute, std::make_unique<GraphReplay>(std::move(works), stream));
}

void Graph::reset() {
  if (!forked_after_use()) end_capture(false);
  std::shared_ptr<CapturedWorks> dropped;  // destroyed without the lock; replays in flight keep it
  std::lock_guard lock(state_->mutex);
  dropped.swap(state_->works);
}

MempoolId Graph::pool() const {
  std::lock_guard lock(state_->mutex);
  return state_->pool;
}

MempoolId new_mempool_id() {
  static std::atomic<std::uint64_t> last{0};
  return {last.fetch_add(1, std::memory_order_relaxed) + 1, 0};
}

}  // namespace spyre::device
