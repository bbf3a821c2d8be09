// Stream capture and replay behind torch.accelerator.Graph.
#include <ATen/core/GraphImplInterface.h>
#include <c10/util/Exception.h>

#include <fstream>
#include <vector>

#include "device/allocator.h"
#include "device/graph.h"
#include "runtime/capture.h"
#include "runtime/generator.h"
#include "runtime/registration.h"
#include "runtime/stream.h"

namespace spyre::runtime {

namespace {

device::CaptureMode capture_mode(at::GraphCaptureMode mode) {
  switch (mode) {
    case at::GraphCaptureMode::ThreadLocal:
      return device::CaptureMode::kThreadLocal;
    case at::GraphCaptureMode::Relaxed:
      return device::CaptureMode::kRelaxed;
    default:
      return device::CaptureMode::kGlobal;
  }
}

// Captures on the stream that is current at capture_begin(); memory allocated by the capturing
// stream comes from the graph's own pool, so that outputs keep their addresses between replays.
class GraphImpl final : public at::GraphImplInterface {
 public:
  explicit GraphImpl(const at::GraphImplArgs& args) : keep_graph_(args.keep_graph) {}
  ~GraphImpl() override { release(); }

  void capture_begin(at::MempoolId_t pool, at::GraphCaptureMode mode) override {
    TORCH_CHECK(state_ == State::kEmpty,
                "This SpyreGraph instance already owns a captured graph. To capture a new graph, "
                "create a new instance or call reset() first.");
    initialize();
    const device::StreamRef stream = current_stream();
    TORCH_CHECK(stream.id != device::kDefaultStream,
                "Spyre graphs must be captured on a non-default stream. (However, after capture, "
                "it's ok to replay them on the default stream.)");
    pool_ = pool.first == 0 && pool.second == 0 ? at::MempoolId_t(device::new_mempool_id()) : pool;
    auto& allocator = device::CachingAllocator::of(stream.device);
    allocator.begin_allocate_to_pool(pool_, [stream](device::StreamId candidate) {
      // Streams that joined the capture through events belong to it.
      return candidate == stream.id || device::is_capturing({stream.device, candidate});
    });
    const device::Status status = graph_.capture_begin(stream, pool_, capture_mode(mode));
    if (!status.is_ok()) {
      allocator.end_allocate_to_pool(pool_);
      allocator.release_pool(pool_);
      throw_status(status);
    }
    stream_ = stream;
    state_ = State::kCapturing;
    if (g_captures.fetch_add(1) == 0) {
      forget_captured_draws();
    }
  }

  void capture_end() override {
    TORCH_CHECK(state_ == State::kCapturing,
                "capture_end() called without a matching capture_begin()");
    TORCH_CHECK(current_stream() == stream_, "Capture must end on the same stream it began on.");
    const device::Status status = graph_.capture_end();
    if (status.code == device::StatusCode::kCaptureWrongThread) {
      throw_status(status);  // it goes on
    }
    device::CachingAllocator::of(stream_.device).end_allocate_to_pool(pool_);
    state_ = State::kCaptured;
    generators_ = captured_draws();
    g_captures.fetch_sub(1);
    if (!status.is_ok()) {
      release();
      throw_status(status);
    }
    if (!keep_graph_) {
      instantiate();
    }
  }

  void instantiate() override {
    TORCH_CHECK(state_ == State::kCaptured,
                "instantiate() called on an invalid graph: capture one first");
  }

  void replay() override {
    TORCH_CHECK(state_ == State::kCaptured,
                "Called SpyreGraph::replay without a preceding successful capture.");
    const device::StreamRef stream = current_stream(stream_.device);
    const std::vector<ReplayedDraw> draws = begin_replay(generators_, stream);
    check(graph_.replay(stream));
    end_replay(draws, stream);
  }

  void reset() override { release(); }

  at::MempoolId_t pool() const override {
    TORCH_CHECK(state_ == State::kCaptured,
                "Called SpyreGraph::pool() without a preceding successful capture.");
    return pool_;
  }

  void enable_debug_mode() override { debug_ = true; }

  void debug_dump(const std::string& path) override {
    TORCH_CHECK(debug_, "debug_dump() needs enable_debug_mode() before the capture");
    TORCH_CHECK(state_ == State::kCaptured, "debug_dump() called without a captured graph");
    std::ofstream file(path);
    TORCH_CHECK(file.good(), "debug_dump() cannot write ", path);
    file << "spyre graph: device " << stream_.device << ", captured on stream " << stream_.id
         << ", memory pool (" << pool_.first << ", " << pool_.second << ")\n";
  }

 private:
  enum class State { kEmpty, kCapturing, kCaptured };

  void release() {
    if (state_ == State::kEmpty) {
      return;
    }
    auto& allocator = device::CachingAllocator::of(stream_.device);
    if (state_ == State::kCapturing) {
      g_captures.fetch_sub(1);
      allocator.end_allocate_to_pool(pool_);
    }
    graph_.reset();
    generators_.clear();
    allocator.release_pool(pool_);
    state_ = State::kEmpty;
  }

  bool keep_graph_;
  bool debug_ = false;
  State state_ = State::kEmpty;
  device::Graph graph_;
  device::StreamRef stream_;
  at::MempoolId_t pool_{0, 0};
  std::vector<at::Generator> generators_;
};

}  // namespace

void register_graph() {
  // The key is c10::DeviceTypeName(PrivateUse1) after the rename to "spyre".
  at::GraphImplRegistry()->Register(
      "SPYRE", [](const at::GraphImplArgs& args) -> std::unique_ptr<at::GraphImplInterface> {
        return std::make_unique<GraphImpl>(args);
      });
}

}  // namespace spyre::runtime
