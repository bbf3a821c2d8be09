#include "runtime/launch_plan_program.h"

#include <algorithm>
#include <stdexcept>

#include "device/activity.h"
#include "runtime/plan_memory.h"

namespace spyre::runtime {
namespace {

// Below this a kernel is not worth the team.
constexpr double kParallelNs = 15'000;

std::vector<std::int32_t> slots_of(const StepSpec& step) {
  if (const auto* kernel = std::get_if<KernelCall>(&step)) return kernel->slots;
  if (const auto* seed = std::get_if<SeedCall>(&step)) return {seed->slot};
  return std::get<std::shared_ptr<const ExternCall>>(step)->slots();
}

}  // namespace

LaunchPlan::Program::Program(LaunchPlanSpec spec) : spec_(std::move(spec)) {
  const auto memory_count = static_cast<std::int32_t>(spec_.memories.size());
  const auto slot_count = static_cast<std::int32_t>(spec_.slots.size());
  first_use_.assign(spec_.memories.size(), -1);
  last_use_.assign(spec_.memories.size(), -1);
  std::vector<bool> bound(spec_.memories.size(), false);
  for (std::int32_t slot = 0; slot < slot_count; ++slot) {
    const std::int32_t memory = spec_.slots[slot].memory;
    if (memory < 0 || memory >= memory_count)
      throw std::invalid_argument("launch plan: slot of no memory");
    // The first slot of an input's memory describes the input itself.
    if (spec_.memories[memory].source == MemorySpec::Source::kInput && !bound[memory]) {
      bound[memory] = true;
      input_slots_.push_back(slot);
    }
  }
  for (std::int32_t memory = 0; memory < memory_count; ++memory)
    if (spec_.memories[memory].source == MemorySpec::Source::kOutput)
      output_memories_.push_back(memory);
  find_phases();
  for (std::int32_t step = 0; step < static_cast<std::int32_t>(spec_.steps.size()); ++step) {
    for (const std::int32_t slot : slots_of(spec_.steps[step])) {
      if (slot < 0 || slot >= slot_count)
        throw std::invalid_argument("launch plan: step uses no slot");
      const std::int32_t memory = spec_.slots[slot].memory;
      if (first_use_[memory] < 0) first_use_[memory] = phases_[step];
      last_use_[memory] = phases_[step];
    }
    if (std::holds_alternative<SeedCall>(spec_.steps[step])) seed_steps_.push_back(step);
  }
  find_adoptable();
  group_steps();
}

// Steps of one phase may run side by side, so their temporaries never share bytes.
void LaunchPlan::Program::find_phases() {
  std::int32_t phase = 0;
  bool in_kernels = false;
  for (const StepSpec& step : spec_.steps) {
    const auto* kernel = std::get_if<KernelCall>(&step);
    const bool extern_call = kernel == nullptr && !std::holds_alternative<SeedCall>(step);
    if (extern_call || (kernel != nullptr && (kernel->barrier || !in_kernels))) ++phase;
    in_kernels = kernel != nullptr || (in_kernels && !extern_call);
    phases_.push_back(phase);
  }
}

// A result may keep its own memory when the call is the first to use the slot's, which is a
// temporary: memory of an output is handed out before the call runs. The slot stays reserved in the
// plan's workspace, so that the card's statistics count the result, wherever it lies.
void LaunchPlan::Program::find_adoptable() {
  std::vector<int> results_in(spec_.memories.size(), 0);
  for (std::size_t step = 0; step < spec_.steps.size(); ++step) {
    const auto* call = std::get_if<std::shared_ptr<const ExternCall>>(&spec_.steps[step]);
    if (call == nullptr) continue;
    for (const ExternResult& result : (*call)->results()) {
      const std::int32_t memory = spec_.slots[result.slot].memory;
      if (++results_in[memory] == 1 && first_use_[memory] == phases_[step] &&
          spec_.memories[memory].source == MemorySpec::Source::kTemporary)
        adoptable_slots_.push_back(result.slot);
    }
  }
  std::erase_if(adoptable_slots_,
                [&](std::int32_t slot) { return results_in[spec_.slots[slot].memory] > 1; });
}

void LaunchPlan::Program::group_steps() {
  for (std::size_t i = 0; i < spec_.steps.size(); ++i) {
    if (const auto* call = std::get_if<std::shared_ptr<const ExternCall>>(&spec_.steps[i])) {
      segments_.emplace_back(*call);
      serial_segments_.emplace_back(*call);
    }
    const auto* kernel = std::get_if<KernelCall>(&spec_.steps[i]);
    if (kernel == nullptr) continue;
    device::KernelStep step = kernel->kernel->step();
    const KernelSpec& spec = kernel->kernel->spec();
    if (kernel->slots.size() != spec.buffers.size() || kernel->sizes.size() != spec.scalars.size())
      throw std::invalid_argument("launch plan: arguments do not fit kernel " + spec.name);
    step.buffer_slots = kernel->slots;
    step.scalar_slots = kernel->sizes;
    step.barrier_before = kernel->barrier;
    if (spec.workspace_bytes > 0) {
      step.workspace_slot =
          static_cast<std::int32_t>(spec_.slots.size() + kernel_workspaces_.size());
      kernel_workspaces_.push_back({phases_[i], spec.workspace_bytes});
    }
    if (segments_.empty() || segments_.back().index() != 0) {
      segments_.emplace_back(std::vector<device::KernelStep>());
      serial_segments_.emplace_back(std::vector<device::KernelStep>());
    }
    std::get<0>(segments_.back()).push_back(step);
    if (!spec.cores_fixed) step.cores = 1;
    std::get<0>(serial_segments_.back()).push_back(std::move(step));
  }
}

LaunchPlan::Resolved LaunchPlan::Program::resolve(std::vector<std::int64_t> sources) const {
  Resolved out;
  out.sources = std::move(sources);
  out.sizes.reserve(spec_.sizes.size());
  for (const IntProgram& size : spec_.sizes) out.sizes.push_back(size.evaluate(out.sources.data()));
  resolve_layouts(out);
  resolve_memory(out);
  resolve_costs(out);
  return out;
}

void LaunchPlan::Program::resolve_layouts(Resolved& out) const {
  const std::int64_t* sources = out.sources.data();
  for (const SlotSpec& slot : spec_.slots) {
    SlotLayout layout;
    layout.dtype = slot.dtype;
    const auto itemsize = static_cast<std::int64_t>(c10::elementSize(slot.dtype));
    std::int64_t last = 0;
    for (std::size_t dim = 0; dim < slot.sizes.size(); ++dim) {
      layout.sizes.push_back(slot.sizes[dim].evaluate(sources));
      layout.strides.push_back(slot.strides[dim].evaluate(sources));
      layout.numel *= layout.sizes.back();
      last += (layout.sizes.back() - 1) * layout.strides.back();
    }
    layout.offset_bytes = slot.offset.evaluate(sources) * itemsize;
    layout.extent_bytes = layout.numel == 0 ? 0 : (last + 1) * itemsize;
    out.layouts.push_back(std::move(layout));
  }
}

void LaunchPlan::Program::resolve_memory(Resolved& out) const {
  const std::size_t memory_count = spec_.memories.size();
  std::vector<Lifetime> lifetimes;
  std::vector<std::size_t> owners;
  out.memory_bytes.assign(memory_count, 0);
  out.workspace_offsets.assign(memory_count + kernel_workspaces_.size(), -1);
  for (std::size_t memory = 0; memory < memory_count; ++memory) {
    if (spec_.memories[memory].source == MemorySpec::Source::kInput) continue;
    out.memory_bytes[memory] = spec_.memories[memory].bytes.evaluate(out.sources.data());
    if (spec_.memories[memory].source != MemorySpec::Source::kTemporary || first_use_[memory] < 0)
      continue;
    lifetimes.push_back({out.memory_bytes[memory], first_use_[memory], last_use_[memory]});
    owners.push_back(memory);
  }
  for (std::size_t i = 0; i < kernel_workspaces_.size(); ++i) {
    const WorkspaceUse& use = kernel_workspaces_[i];
    lifetimes.push_back({use.bytes, use.phase, use.phase});
    owners.push_back(memory_count + i);
  }
  out.adopt_bytes.assign(spec_.slots.size(), -1);
  for (const std::int32_t slot : adoptable_slots_)
    if (out.layouts[slot].offset_bytes == 0)
      out.adopt_bytes[slot] = out.memory_bytes[spec_.slots[slot].memory];
  const Packing packing = pack(lifetimes);
  for (std::size_t i = 0; i < owners.size(); ++i)
    out.workspace_offsets[owners[i]] = packing.offsets[i];
  out.workspace_bytes = packing.total_bytes;
}

double LaunchPlan::Program::kernel_ns(const KernelCall& call, const Resolved& resolved) const {
  const KernelSpec& spec = call.kernel->spec();
  std::vector<std::int64_t> scalars;
  for (const std::int32_t size : call.sizes) scalars.push_back(resolved.sizes[size]);
  scalars.push_back(0);  // data() of an empty vector may be null
  return static_cast<double>(spec.points.evaluate(scalars.data())) * spec.ns_per_point;
}

void LaunchPlan::Program::resolve_costs(Resolved& out) const {
  bool in_kernels = false;
  for (const StepSpec& step : spec_.steps) {
    double ns = 0;
    if (const auto* kernel = std::get_if<KernelCall>(&step)) {
      ns = kernel_ns(*kernel, out);
      if (!in_kernels) out.shared.push_back(false);
      in_kernels = true;
      if (ns > kParallelNs) out.shared.back() = true;
    } else if (const auto* call = std::get_if<std::shared_ptr<const ExternCall>>(&step)) {
      ns = 2 * (*call)->estimate_ns(out.layouts);  // on the caller it has one thread, never shared
      out.shared.push_back(true);
      in_kernels = false;
    }
    out.total_ns += ns;
  }
}

std::vector<void*> LaunchPlan::Program::addresses(const Resolved& resolved,
                                                  const std::vector<char*>& bases) const {
  std::vector<void*> out;
  out.reserve(spec_.slots.size() + kernel_workspaces_.size());
  for (std::size_t slot = 0; slot < spec_.slots.size(); ++slot) {
    char* base = bases[static_cast<std::size_t>(spec_.slots[slot].memory)];
    out.push_back(base == nullptr ? nullptr : base + resolved.layouts[slot].offset_bytes);
  }
  // `bases` has the kernels' workspaces after the memories.
  for (std::size_t i = spec_.memories.size(); i < bases.size(); ++i) out.push_back(bases[i]);
  return out;
}

void LaunchPlan::Program::point_to(const AdoptedResult& result, const Resolved& resolved,
                                   void** addresses) const {
  auto* const base = static_cast<char*>(result.tensor.mutable_data_ptr());
  const std::int32_t memory = spec_.slots[result.slot].memory;
  for (std::size_t slot = 0; slot < spec_.slots.size(); ++slot)
    if (spec_.slots[slot].memory == memory)
      addresses[slot] = base + resolved.layouts[slot].offset_bytes;
}

device::Status LaunchPlan::Program::run(const Resolved& resolved, void* const* given,
                                        bool shared) const {
  std::vector<AdoptedResult> adopted;  // alive until the last step has run
  std::vector<void*> changed;          // the call may run again: a captured graph replays it
  if (!adoptable_slots_.empty())
    changed.assign(given, given + spec_.slots.size() + kernel_workspaces_.size());
  void* const* addresses = changed.empty() ? given : changed.data();
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    const bool team = shared && resolved.shared[i];
    const Segment& segment = team ? segments_[i] : serial_segments_[i];
    if (const auto* steps = std::get_if<0>(&segment)) {
      device::Status status = device::run_steps(*steps, addresses, resolved.sizes.data(), team);
      if (!status.is_ok()) return status;
    } else {
      const ExternCall& call = *std::get<1>(segment);
      const std::int64_t started_ns = device::activity_enabled() ? device::now_ns() : 0;
      for (AdoptedResult& result :
           call.run(addresses, resolved.layouts, resolved.adopt_bytes, resolved.sizes.data())) {
        point_to(result, resolved, changed.data());
        adopted.push_back(std::move(result));
      }
      if (started_ns != 0) [[unlikely]]
        device::add_activity_part({call.name(), started_ns, device::now_ns(), {}});
    }
  }
  return device::Status::ok();
}

device::Status LaunchPlan::Program::run_inline(const Resolved& resolved, void* const* addresses,
                                               device::StreamRef stream) const {
  if (!device::activity_enabled()) return run(resolved, addresses, false);
  device::Activity activity;
  activity.name = spec_.name;
  activity.stream = stream;
  activity.inline_run = true;
  activity.correlation = device::next_correlation();
  activity.enqueued_ns = activity.started_ns = device::now_ns();
  device::Status status = run(resolved, addresses, false);
  activity.finished_ns = device::now_ns();
  device::report_activity(activity);
  return status;
}

}  // namespace spyre::runtime
