#include "runtime/launch.h"

#include <ATen/EmptyTensor.h>
#include <c10/core/Allocator.h>
#include <c10/core/DeviceGuard.h>

#include <sstream>

#include "device/activity.h"
#include "device/allocator.h"
#include "device/stream.h"
#include "runtime/current.h"
#include "runtime/exception.h"
#include "runtime/stream.h"

namespace spyre::runtime {
namespace {

constexpr auto kSpyre = c10::DeviceType::PrivateUse1;

using Steps = std::shared_ptr<const std::vector<device::KernelStep>>;

// A queued launch: addresses by value; owns only memory that is not the card's pool.
class KernelWork final : public device::Work {
 public:
  KernelWork(Steps steps, void* const* buffers, std::size_t buffer_count,
             const std::int64_t* scalars, std::size_t scalar_count)
      : Work(steps->front().name),
        steps_(std::move(steps)),
        buffers_(buffers, buffers + buffer_count),
        scalars_(scalars, scalars + scalar_count) {}

  void own(c10::Storage storage) { owned_.push_back(std::move(storage)); }
  device::Status run() override {
    return device::run_steps(*steps_, buffers_.data(), scalars_.data(), true);
  }

 private:
  Steps steps_;  // keeps the module loaded
  std::vector<void*> buffers_;
  std::vector<std::int64_t> scalars_;
  std::vector<c10::Storage> owned_;
};

device::Status run_inline(const std::vector<device::KernelStep>& steps, void* const* buffers,
                          const std::int64_t* scalars, device::StreamRef stream) {
  if (!device::activity_enabled()) return device::run_steps(steps, buffers, scalars, false);
  device::Activity activity;
  activity.name = steps[0].name;
  activity.stream = stream;
  activity.inline_run = true;
  activity.correlation = device::next_correlation();
  activity.enqueued_ns = activity.started_ns = device::now_ns();
  device::Status status = device::run_steps(steps, buffers, scalars, false);
  activity.finished_ns = device::now_ns();
  device::report_activity(activity);
  return status;
}

std::string describe(const at::TensorBase& tensor) {
  std::ostringstream text;
  text << tensor.dtype() << " tensor of shape " << tensor.sizes() << " on " << tensor.device();
  return text.str();
}

}  // namespace

bool runs_inline(device::StreamRef stream, double estimated_ns) {
  if (estimated_ns > kInlineAsleepNs) return false;
  if (estimated_ns > kInlineNs && device::engine_is_attentive(stream.device)) return false;
  return runtime::may_run_inline(stream);
}

Workspace::Workspace(device::StreamRef stream, std::int64_t bytes) : device_(stream.device) {
  if (bytes == 0) return;
  check(device::CachingAllocator::of(device_).allocate(static_cast<std::size_t>(bytes), stream.id,
                                                       &address_));
}

Workspace::~Workspace() {
  if (address_ != nullptr) device::CachingAllocator::of(device_).free(address_);
}

namespace {

void check_load(const device::Status& status) {
  if (!status.is_ok()) throw LoadFailure(status.message);
}

}  // namespace

std::shared_ptr<device::Module> load_module(const std::string& path) {
  std::shared_ptr<device::Module> module;
  check_load(device::Module::load(path, &module));
  return module;
}

Kernel::Kernel(std::shared_ptr<device::Module> module, KernelSpec spec) : spec_(std::move(spec)) {
  device::KernelStep step;
  check_load(module->find(spec_.name, &step.entry));
  step.name = spec_.name;
  step.module = std::move(module);
  for (std::size_t i = 0; i < spec_.buffers.size(); ++i)
    step.buffer_slots.push_back(static_cast<std::int32_t>(i));
  for (std::size_t i = 0; i < spec_.scalars.size(); ++i)
    step.scalar_slots.push_back(static_cast<std::int32_t>(i));
  if (spec_.workspace_bytes > 0)
    step.workspace_slot = static_cast<std::int32_t>(spec_.buffers.size());
  step.cores = spec_.cores;
  step.checks = spec_.checks;
  steps_ = std::make_shared<const std::vector<device::KernelStep>>(1, step);
  if (!spec_.cores_fixed) step.cores = 1;
  serial_steps_ = std::make_shared<const std::vector<device::KernelStep>>(1, std::move(step));
}

void* Kernel::check_tensor(std::size_t position, const at::TensorBase& tensor, int* device) const {
  const BufferSpec& expected = spec_.buffers[position];
  const auto fail = [&](const std::string& wanted) {
    throw LaunchMismatch("kernel " + spec_.name + ", argument " + std::to_string(position) + " (" +
                         expected.name + "): expected " + wanted + ", got " + describe(tensor));
  };
  if (!tensor.defined()) fail("a tensor");
  if (tensor.scalar_type() != expected.dtype)
    fail(std::string("dtype ") + c10::toString(expected.dtype));
  const c10::Device where = tensor.device();
  if (where.type() == kSpyre) {
    if (*device < 0) {
      *device = where.index();
    } else if (*device != where.index()) {
      fail("a tensor on spyre:" + std::to_string(*device) + " like the arguments before it");
    }
  } else if (where.type() != c10::DeviceType::CPU || tensor.dim() != 0) {
    // Device memory is host memory, so a CPU scalar needs no copy; anything larger is a mistake.
    fail("a spyre tensor or a CPU tensor of dimension 0");
  }
  return tensor.mutable_data_ptr();
}

void Kernel::launch(int device, void** buffers, const at::TensorBase* const* tensors,
                    const std::int64_t* scalars) const {
  initialize();
  const device::StreamRef stream = current_stream(static_cast<c10::DeviceIndex>(device));
  const double points = static_cast<double>(spec_.points.evaluate(scalars));
  if (points == 0) return;
  const Workspace workspace(stream, spec_.workspace_bytes);
  const std::size_t count = spec_.buffers.size();
  if (spec_.workspace_bytes > 0) buffers[count] = workspace.address();

  if (runs_inline(stream, points * spec_.ns_per_point)) {
    check(run_inline(*serial_steps_, buffers, scalars, stream));
    return;
  }
  auto work = std::make_unique<KernelWork>(
      steps_, buffers, count + (spec_.workspace_bytes > 0 ? 1 : 0), scalars, spec_.scalars.size());
  for (std::size_t i = 0; i < count; ++i)
    if (device::device_of_address(buffers[i]) < 0) work->own(tensors[i]->storage());
  check(device::enqueue(stream, device::Engine::kCompute, std::move(work)));
}

at::TensorBase empty_strided(at::IntArrayRef sizes, at::IntArrayRef strides, at::ScalarType dtype,
                             int index) {
  static c10::Allocator* allocator = c10::GetAllocator(kSpyre);
  constexpr c10::DispatchKeySet keys(c10::DispatchKey::PrivateUse1);
  if (index < 0 || index == current_device())
    return at::detail::empty_strided_generic(sizes, strides, allocator, keys, dtype);
  const c10::DeviceGuard guard(c10::Device(kSpyre, index));
  return at::detail::empty_strided_generic(sizes, strides, allocator, keys, dtype);
}

}  // namespace spyre::runtime
