// Launch of kernels over the virtual cores: one kernel, or a whole plan at once.
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
  bool barrier_before = true;        // depends on an earlier step of the same launch
  std::vector<std::string> checks;   // text per KernelPlan check, for the error message
};

// Runs the steps in order. With shared=true, threads of the team may join (team.h); else all runs
// on the calling thread. Returns kKernelFault naming kernel, check, value and limits. Never throws.
Status run_steps(const std::vector<KernelStep>& steps, void* const* buffers,
                 const std::int64_t* scalars, bool shared);

// Threads that share a launch, the engine's own included (SPYRE_NUM_THREADS, default: host cores).
int team_size();

}  // namespace spyre::device
