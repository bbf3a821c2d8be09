// The inside of LaunchPlan: its steps grouped for the device, and what one set of sizes gives.
#pragma once
#include <memory>
#include <variant>
#include <vector>

#include "device/launch.h"
#include "device/work.h"
#include "runtime/launch_plan.h"

namespace spyre::runtime {

// What follows from one set of sizes.
struct LaunchPlan::Resolved {
  std::vector<std::int64_t> sources;            // the key
  std::vector<std::int64_t> sizes;              // LaunchPlanSpec::sizes
  std::vector<SlotLayout> layouts;              // per slot
  std::vector<std::int64_t> memory_bytes;       // per memory
  std::vector<std::int64_t> workspace_offsets;  // per memory and kernel workspace; -1: not in it
  std::vector<std::int64_t> adopt_bytes;        // per slot: size of its memory if a result may stay
                                                // where the operator put it, else -1
  std::int64_t workspace_bytes = 0;
  double total_ns = 0;
  std::vector<bool> shared;  // per segment: worth the team
};

// Immutable; shared by the plan and its queued calls.
class LaunchPlan::Program {
 public:
  // Kernels between two extern calls, or one extern call.
  using Segment = std::variant<std::vector<device::KernelStep>, std::shared_ptr<const ExternCall>>;

  explicit Program(LaunchPlanSpec spec);

  const LaunchPlanSpec& spec() const { return spec_; }
  const std::vector<std::int32_t>& input_slots() const { return input_slots_; }
  const std::vector<std::int32_t>& output_memories() const { return output_memories_; }
  const std::vector<std::int32_t>& seed_steps() const { return seed_steps_; }

  Resolved resolve(std::vector<std::int64_t> sources) const;
  // Address per slot, then per kernel workspace.
  std::vector<void*> addresses(const Resolved& resolved, const std::vector<char*>& bases) const;

  device::Status run(const Resolved& resolved, void* const* given, bool shared) const;
  // The same on the calling thread, reported to the profiler.
  device::Status run_inline(const Resolved& resolved, void* const* addresses,
                            device::StreamRef stream) const;

 private:
  void find_phases();
  void find_adoptable();
  void point_to(const AdoptedResult& result, const Resolved& resolved, void** addresses) const;
  void group_steps();
  void resolve_layouts(Resolved& out) const;
  void resolve_memory(Resolved& out) const;
  void resolve_costs(Resolved& out) const;
  double kernel_ns(const KernelCall& call, const Resolved& resolved) const;

  LaunchPlanSpec spec_;
  std::vector<Segment> segments_;         // cores as planned
  std::vector<Segment> serial_segments_;  // one core where the kernel allows it
  std::vector<std::int32_t> input_slots_, output_memories_, seed_steps_, adoptable_slots_;
  std::vector<std::int32_t> phases_;                // per step: what a barrier ends
  std::vector<std::int32_t> first_use_, last_use_;  // per memory, in phases; -1: unused
  struct WorkspaceUse {
    std::int32_t phase;
    std::int64_t bytes;
  };
  std::vector<WorkspaceUse> kernel_workspaces_;
};

}  // namespace spyre::runtime
