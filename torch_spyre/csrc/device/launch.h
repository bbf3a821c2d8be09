// Launch of kernels over the virtual cores: one kernel, or a whole plan in one parallel region.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "module.h"
#include "stream.h"

namespace spyre::device {

// One kernel of a plan. Slots index the launch's buffer and scalar tables.
struct KernelStep {
  std::string name;
  spyre_kernel_fn entry = nullptr;
  std::shared_ptr<Module> module;  // keeps the code mapped
  std::vector<std::int32_t> buffer_slots;
  std::vector<std::int32_t> scalar_slots;
  std::int32_t workspace_slot = -1;  // buffer slot of the workspace, -1 for none
  std::int32_t cores = 1;            // 1..32; 1 runs without the team
  bool barrier_before = true;        // depends on an earlier step of the same region
  std::vector<std::string> checks;   // text per KernelPlan check, for the error message
};

// Runs the steps in order. With parallel=true and a step of more than one core, opens one parallel
// region of the calling thread's team for all of them; else runs serially. Returns kKernelFault
// naming kernel, check, value and limits. Never throws.
Status run_steps(const std::vector<KernelStep>& steps, void* const* buffers,
                 const std::int64_t* scalars, bool parallel);

// Threads of the compute engine's team (SPYRE_NUM_THREADS, default: host cores).
int team_size();

}  // namespace spyre::device
