// Launch of one compiled kernel: argument checks, choice between inline and queued execution.
//
// Note [Inline or queued]: a launch whose estimated single-threaded time is at most kInlineNs runs
// on the calling thread when its stream is idle. One of up to kInlineAsleepNs does so when it would
// have to wake the engine, which costs as much. Anything else is enqueued and returns at once: an
// engine that is awake runs it beside the caller's next Python code.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "device/launch.h"
#include "device/module.h"
#include "device/stream.h"
#include "runtime/int_program.h"

namespace spyre::runtime {

inline constexpr double kInlineNs = 8'000;
inline constexpr double kInlineAsleepNs = 30'000;

// Throws the stream's pending error.
bool runs_inline(device::StreamRef stream, double estimated_ns);

// Arguments do not fit the kernel; becomes spyre_inductor.errors.LaunchError.
struct LaunchMismatch : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// The shared object could not be loaded; becomes spyre_inductor.errors.LoadError.
struct LoadFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct BufferSpec {
  std::string name;  // in_ptr0
  at::ScalarType dtype;
};
struct ScalarSpec {
  std::string name;  // ks0
  bool is_float = false;
};
struct KernelSpec {
  std::string name;
  std::vector<BufferSpec> buffers;
  std::vector<ScalarSpec> scalars;
  int cores = 1;
  bool cores_fixed = false;  // a split reduction: another kernel reads one partial per core
  std::int64_t workspace_bytes = 0;
  std::vector<std::string> checks;
  IntProgram points;        // points of the iteration space; symbols are the scalars
  double ns_per_point = 1;  // single-threaded estimate
};

// A kernel of a loaded module. Thread-safe; immutable after construction.
class Kernel {
 public:
  // Throws LoadFailure when the module does not export spec.name.
  Kernel(std::shared_ptr<device::Module> module, KernelSpec spec);

  const KernelSpec& spec() const { return spec_; }
  const device::KernelStep& step() const { return steps_->front(); }

  // Checks one tensor against argument `position` and gives its address. `device` is -1 until the
  // first spyre tensor sets it. Throws LaunchMismatch.
  void* check_tensor(std::size_t position, const at::TensorBase& tensor, int* device) const;

  // Runs or queues the kernel on the current stream of `device`. `tensors` are the buffers'
  // owners, in order. Throws the stream's pending error,
  // OutOfMemoryError for the workspace, and an inline kernel's own fault.
  void launch(int device, void** buffers, const at::TensorBase* const* tensors,
              const std::int64_t* scalars) const;

 private:
  KernelSpec spec_;
  // Each exactly one step: cores as planned, and one core where the kernel allows it.
  std::shared_ptr<const std::vector<device::KernelStep>> steps_, serial_steps_;
};

// Memory of one launch. Given back at once: reuse is in stream order (device/allocator.h).
class Workspace {
 public:
  // Throws OutOfMemoryError. bytes == 0 gives no memory.
  Workspace(device::StreamRef stream, std::int64_t bytes);
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  void* address() const { return address_; }

 private:
  int device_;
  void* address_ = nullptr;
};

// Throws LoadFailure: path, reason, and both ABI versions when they differ.
std::shared_ptr<device::Module> load_module(const std::string& path);

// Contiguous or strided uninitialised tensor on card `index`; the wrapper's allocation.
at::TensorBase empty_strided(at::IntArrayRef sizes, at::IntArrayRef strides, at::ScalarType dtype,
                             int index);

}  // namespace spyre::runtime
