#include "runtime/registration.h"

#include <ATen/Parallel.h>

#include "device/engine_start.h"
#include "runtime/allocator.h"
#include "runtime/host_allocator.h"
#include "runtime/profiler.h"

namespace spyre::runtime {

void register_runtime() {
  register_allocator();
  register_host_allocator();
  register_guard();
  register_hooks();
  register_graph();
  register_activity_profiler();
  register_profiler_stubs();
  // ATen sizes a thread's teams at its first parallel operator, which may not be the first work.
  device::set_engine_start_hook([] { (void)at::get_num_threads(); });
}

}  // namespace spyre::runtime
