#include "runtime/launch_plan.h"

#include <ATen/ops/randint.h>
#include <c10/core/Allocator.h>
#include <c10/core/DeviceGuard.h>

#include <algorithm>
#include <limits>
#include <sstream>

#include "device/allocator.h"
#include "device/stream.h"
#include "runtime/current.h"
#include "runtime/exception.h"
#include "runtime/launch_plan_program.h"
#include "runtime/plan_memory.h"
#include "runtime/stream.h"

namespace spyre::runtime {
namespace {

constexpr auto kSpyre = c10::DeviceType::PrivateUse1;
constexpr std::size_t kResolvedKept = 8;

[[noreturn]] void fail_input(const LaunchPlanSpec& spec, const SlotSpec& slot,
                             const SlotLayout& layout, const at::Tensor* tensor) {
  std::ostringstream text;
  text << "graph " << spec.name << ", input " << slot.name << ": expected a "
       << c10::toString(layout.dtype) << " tensor of shape " << c10::IntArrayRef(layout.sizes)
       << " and strides " << c10::IntArrayRef(layout.strides) << " on "
       << (spec.cpu_resident ? "cpu" : "spyre:" + std::to_string(spec.device)) << ", got ";
  if (tensor == nullptr) {
    text << "no tensor";
  } else {
    text << c10::toString(tensor->scalar_type()) << " of shape " << tensor->sizes()
         << " and strides " << tensor->strides() << " on " << tensor->device();
  }
  throw LaunchMismatch(text.str());
}

// Strides of dimensions of size 1, and of an empty tensor, mean nothing.
bool same_layout(const at::Tensor& tensor, const SlotLayout& layout) {
  const auto sizes = tensor.sizes(), strides = tensor.strides();
  if (sizes != c10::IntArrayRef(layout.sizes)) return false;
  if (layout.numel == 0) return true;
  for (std::size_t dim = 0; dim < sizes.size(); ++dim)
    if (sizes[dim] != 1 && strides[dim] != layout.strides[dim]) return false;
  return true;
}

bool fits(const LaunchPlanSpec& spec, const SlotLayout& layout, const at::Tensor& tensor) {
  if (tensor.scalar_type() != layout.dtype || !same_layout(tensor, layout)) return false;
  const c10::Device device = tensor.device();
  if (device.type() == c10::DeviceType::CPU) return spec.cpu_resident || tensor.dim() == 0;
  return device.type() == kSpyre && device.index() == spec.device;
}

at::Tensor tensor_over(const c10::Storage& storage, std::int64_t base_bytes,
                       const SlotLayout& layout) {
  const auto key =
      storage.device_type() == kSpyre ? c10::DispatchKey::PrivateUse1 : c10::DispatchKey::CPU;
  const auto type = c10::scalarTypeToTypeMeta(layout.dtype);
  at::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(c10::Storage(storage),
                                                               c10::DispatchKeySet(key), type);
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(
      layout.sizes, layout.strides,
      (base_bytes + layout.offset_bytes) / static_cast<std::int64_t>(type.itemsize()));
  return tensor;
}

}  // namespace

// --- one call -----------------------------------------------------------------------------------

// Queued calls: addresses by value; owns only memory that is not the card's pool.
class LaunchPlan::PlanWork final : public device::Work {
 public:
  PlanWork(std::shared_ptr<const Program> program, std::shared_ptr<const Resolved> resolved,
           std::vector<void*> addresses)
      : Work(program->spec().name),
        program_(std::move(program)),
        resolved_(std::move(resolved)),
        addresses_(std::move(addresses)) {}

  void own(c10::Storage storage) { owned_.push_back(std::move(storage)); }
  device::Status run() override { return program_->run(*resolved_, addresses_.data(), true); }

 private:
  std::shared_ptr<const Program> program_;
  std::shared_ptr<const Resolved> resolved_;
  std::vector<void*> addresses_;
  std::vector<c10::Storage> owned_;
};

LaunchPlan::LaunchPlan(LaunchPlanSpec spec)
    : program_(std::make_shared<const Program>(std::move(spec))) {}
LaunchPlan::~LaunchPlan() = default;

const LaunchPlanSpec& LaunchPlan::spec() const { return program_->spec(); }

std::shared_ptr<const LaunchPlan::Resolved> LaunchPlan::resolve(
    const std::vector<CallInput>& inputs) const {
  std::vector<std::int64_t> sources;
  sources.reserve(spec().size_sources.size());
  for (const SizeSource& source : spec().size_sources) {
    const CallInput& input = inputs[static_cast<std::size_t>(source.input)];
    if (source.kind == SizeSource::Kind::kValue) {
      sources.push_back(input.value);
    } else if (input.tensor == nullptr || source.dim >= input.tensor->dim()) {
      throw LaunchMismatch("graph " + spec().name + ": input " + std::to_string(source.input) +
                           " must be a tensor of more than " + std::to_string(source.dim) +
                           " dimensions");
    } else {
      sources.push_back(source.kind == SizeSource::Kind::kSize ? input.tensor->size(source.dim)
                                                               : input.tensor->stride(source.dim));
    }
  }
  const std::lock_guard lock(mutex_);
  for (auto it = resolved_.begin(); it != resolved_.end(); ++it) {
    if ((*it)->sources != sources) continue;
    std::rotate(resolved_.begin(), it, it + 1);
    return resolved_.front();
  }
  if (resolved_.size() == kResolvedKept) resolved_.pop_back();
  resolved_.insert(resolved_.begin(),
                   std::make_shared<const Resolved>(program_->resolve(std::move(sources))));
  return resolved_.front();
}

std::vector<CallOutput> LaunchPlan::call(const std::vector<CallInput>& inputs) const {
  if (inputs.size() != spec().input_count)
    throw LaunchMismatch("graph " + spec().name + ": expected " +
                         std::to_string(spec().input_count) + " inputs, got " +
                         std::to_string(inputs.size()));
  initialize();
  const std::shared_ptr<const Resolved> resolved = resolve(inputs);
  const auto index = static_cast<c10::DeviceIndex>(spec().device);
  const c10::DeviceGuard guard(c10::Device(kSpyre, index));
  const device::StreamRef stream = current_stream(index);

  // Storages of inputs and outputs; null for temporaries.
  const std::size_t memory_count = spec().memories.size();
  std::vector<c10::Storage> storages(memory_count);
  std::vector<char*> bases(resolved->workspace_offsets.size(), nullptr);
  for (const std::int32_t slot : program_->input_slots()) {
    const SlotSpec& expected = spec().slots[static_cast<std::size_t>(slot)];
    const auto memory = static_cast<std::size_t>(expected.memory);
    const at::Tensor* tensor =
        inputs[static_cast<std::size_t>(spec().memories[memory].input)].tensor;
    const SlotLayout& layout = resolved->layouts[static_cast<std::size_t>(slot)];
    if (tensor == nullptr || !fits(spec(), layout, *tensor))
      fail_input(spec(), expected, layout, tensor);
    storages[memory] = tensor->storage();
    bases[memory] = static_cast<char*>(tensor->mutable_data_ptr());
  }
  for (const std::int32_t step : program_->seed_steps()) {
    const std::int32_t slot = std::get<SeedCall>(spec().steps[static_cast<std::size_t>(step)]).slot;
    const auto memory =
        static_cast<std::size_t>(spec().slots[static_cast<std::size_t>(slot)].memory);
    using Limits = std::numeric_limits<std::int64_t>;
    const at::Tensor seeds = at::randint(
        Limits::min(), Limits::max(), resolved->layouts[static_cast<std::size_t>(slot)].sizes,
        at::TensorOptions(c10::Device(kSpyre, index)).dtype(at::kLong));
    storages[memory] = seeds.storage();
    bases[memory] = static_cast<char*>(seeds.mutable_data_ptr());
  }
  static c10::Allocator* allocator = c10::GetAllocator(kSpyre);
  for (const std::int32_t memory : program_->output_memories()) {
    const auto at = static_cast<std::size_t>(memory);
    if (bases[at] != nullptr) continue;  // seeds that leave with an output
    const auto bytes = static_cast<std::size_t>(resolved->memory_bytes[at]);
    storages[at] = c10::Storage(c10::Storage::use_byte_size_t{}, bytes, allocator->allocate(bytes),
                                allocator, /*resizable=*/true);
    bases[at] = static_cast<char*>(storages[at].mutable_data());
  }
  const Workspace workspace(stream, resolved->workspace_bytes);
  for (std::size_t memory = 0; memory < bases.size(); ++memory)
    if (bases[memory] == nullptr && resolved->workspace_offsets[memory] >= 0)
      bases[memory] = static_cast<char*>(workspace.address()) + resolved->workspace_offsets[memory];
  std::vector<void*> addresses = program_->addresses(*resolved, bases);

  if (runs_inline(stream, resolved->total_ns)) {
    check(program_->run_inline(*resolved, addresses.data(), stream));
  } else if (!spec().steps.empty()) {
    auto work = std::make_unique<PlanWork>(program_, resolved, std::move(addresses));
    for (const c10::Storage& storage : storages)
      if (storage && storage.data() != nullptr && device::device_of_address(storage.data()) < 0)
        work->own(storage);
    check(device::enqueue(stream, device::Engine::kCompute, std::move(work)));
  }

  std::vector<CallOutput> outputs(spec().outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const OutputSpec& output = spec().outputs[i];
    outputs[i].kind = output.kind;
    const auto at = static_cast<std::size_t>(output.index);
    if (output.kind == OutputSpec::Kind::kInput) outputs[i].value = output.index;
    if (output.kind == OutputSpec::Kind::kSize) outputs[i].value = resolved->sizes[at];
    if (output.kind != OutputSpec::Kind::kTensor) continue;
    const auto memory = static_cast<std::size_t>(spec().slots[at].memory);
    const auto base = static_cast<std::int64_t>(
        bases[memory] - static_cast<char*>(storages[memory].mutable_data()));
    outputs[i].tensor = tensor_over(storages[memory], base, resolved->layouts[at]);
  }
  if (spec().cpu_resident) check(device::synchronize(stream));
  return outputs;
}

}  // namespace spyre::runtime
