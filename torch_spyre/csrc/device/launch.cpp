#include "launch.h"

#include <omp.h>

#include <algorithm>

#include "options.h"
#include "plan_run.h"
#include "team.h"

namespace spyre::device {

Status run_steps(const std::vector<KernelStep>& steps, void* const* buffers,
                 const std::int64_t* scalars, bool shared) {
  const auto is_divided = [](const KernelStep& step) { return step.cores > 1; };
  if (shared && std::any_of(steps.begin(), steps.end(), is_divided)) {
    return run_with_team(steps, buffers, scalars);
  }
  // Per thread and kept: a plan runs thousands of times. Kernels do not launch kernels.
  thread_local PlanRun run;
  run.prepare(steps, buffers, scalars, 1);
  run.run_alone();
  run.report(steps);
  return run.status(steps);
}

int team_size() {
  const int chosen = options().num_threads;
  return chosen > 0 ? chosen : omp_get_num_procs();
}

}  // namespace spyre::device
