#include "device/launch.h"

#include <array>
#include <atomic>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "check.h"
#include "child.h"
#include "gate.h"

using namespace spyre::device;

namespace {

constexpr int kElems = 4096;

// buffers: out[kElems], in[kElems]; scalars: addend.
void add_scalar(const spyre_kernel_args* args, int core, int cores) {
  auto* out = static_cast<long long*>(args->buffers[0]);
  const auto* in = static_cast<const long long*>(args->buffers[1]);
  for (int i = kElems * core / cores; i < kElems * (core + 1) / cores; ++i) {
    out[i] = in[i] + args->scalars[0];
  }
}

// Reads what other cores wrote: wrong without a barrier.
void reverse(const spyre_kernel_args* args, int core, int cores) {
  auto* out = static_cast<long long*>(args->buffers[0]);
  const auto* in = static_cast<const long long*>(args->buffers[1]);
  for (int i = kElems * core / cores; i < kElems * (core + 1) / cores; ++i) {
    out[i] = in[kElems - 1 - i];
  }
}

void count_calls(const spyre_kernel_args* args, int core, int) {
  static_cast<std::atomic<int>*>(args->workspace)[core].fetch_add(1);
}

void faulty(const spyre_kernel_args* args, int core, int) {
  if (core != 3) return;
  int expected = 0;
  if (__atomic_compare_exchange_n(&args->error->code, &expected, 1, false, __ATOMIC_RELAXED,
                                  __ATOMIC_RELAXED)) {
    args->error->check = 1;
    args->error->value = 17;
    args->error->lower = -10;
    args->error->upper = 10;
  }
}

// buffers: total[1], parts[32]. The last core to finish adds up what all have stored.
void add_up(const spyre_kernel_args* args, int core, int cores) {
  auto* parts = static_cast<long long*>(args->buffers[1]);
  parts[core] = core + 1;
  if (__atomic_add_fetch(args->finished, 1, __ATOMIC_ACQ_REL) != cores) return;
  *static_cast<long long*>(args->buffers[0]) = std::accumulate(parts, parts + cores, 0LL);
}

void throwing(const spyre_kernel_args*, int core, int) {
  if (core % 2 == 1) throw std::runtime_error("inside a region");
}

KernelStep step_of(const char* name, spyre_kernel_fn entry, int cores,
                   std::vector<std::int32_t> buffers, std::vector<std::int32_t> scalars = {}) {
  KernelStep step;
  step.name = name;
  step.entry = entry;
  step.cores = cores;
  step.buffer_slots = std::move(buffers);
  step.scalar_slots = std::move(scalars);
  return step;
}

// Runs on the card's engine, as plans do.
Status run_on_card(const std::vector<KernelStep>& steps, void* const* buffers,
                   const std::int64_t* scalars, bool parallel = true) {
  const StreamRef stream{0, kDefaultStream};
  Status queued = enqueue(stream, [&] { return run_steps(steps, buffers, scalars, parallel); });
  return queued.is_ok() ? synchronize(stream) : queued;
}

}  // namespace

TEST(every_core_is_called_once) {
  for (int cores : {1, 2, 3, 7, 31, 32}) {
    for (bool parallel : {false, true}) {
      std::array<std::atomic<int>, 32> calls{};
      KernelStep step = step_of("count", count_calls, cores, {});
      step.workspace_slot = 0;
      void* buffers[] = {calls.data()};
      CHECK_OK(run_on_card({step}, buffers, nullptr, parallel));
      for (int core = 0; core < 32; ++core) CHECK_EQ(calls[core].load(), core < cores ? 1 : 0);
    }
  }
}

TEST(the_last_core_to_finish_sees_all_cores) {
  std::array<long long, 32> parts{};
  std::array<long long, 2> totals{};
  void* buffers[] = {&totals[0], &totals[1], parts.data()};
  for (int turn = 0; turn < 200; ++turn) {  // each launch, and each step of it, counts anew
    parts.fill(-1000), totals.fill(0);
    const std::vector<KernelStep> steps = {step_of("add_up", add_up, 32, {0, 2}),
                                           step_of("add_up", add_up, 7, {1, 2})};
    CHECK_OK(run_on_card(steps, buffers, nullptr, turn % 4 != 0));
    CHECK_EQ(totals[0], 32 * 33 / 2);
    CHECK_EQ(totals[1], 7 * 8 / 2);
  }
}

namespace {

void check_long_plan() {
  std::vector<long long> a(kElems), b(kElems), expected(kElems);
  std::iota(a.begin(), a.end(), 0);
  void* buffers[] = {a.data(), b.data()};
  const std::int64_t scalars[] = {3, 5};
  std::vector<KernelStep> steps;
  for (int i = 0; i < 100; ++i) {
    // Mixed widths: barriers between single-core and team steps matter.
    steps.push_back(step_of("reverse", reverse, i % 3 == 0 ? 1 : 32, {1, 0}));
    steps.push_back(step_of("add", add_scalar, i % 5 == 0 ? 1 : 7, {0, 1}, {i % 2}));
  }
  for (int i = 0; i < kElems; ++i) expected[i] = i + 50 * (3 + 5);
  CHECK_OK(run_on_card(steps, buffers, scalars));
  CHECK(a == expected);
}

}  // namespace

TEST(a_plan_is_one_region_whose_steps_see_each_others_results) { check_long_plan(); }

CHILD(long_plan) {
  check_long_plan();
  return check::failures();
}

TEST(a_plan_runs_on_teams_of_any_size) {
  for (const char* threads : {"SPYRE_NUM_THREADS=1", "SPYRE_NUM_THREADS=7"}) {
    const child::Result result = child::run("long_plan", {threads});
    CHECK_EQ(result.status, 0);
    CHECK_EQ(result.output, "");
  }
}

TEST(a_barrier_left_out_between_single_core_steps_is_still_honoured) {
  // step 0 and 1 run on thread 0; step 2 says it depends on nothing newer than step 1's barrier.
  std::vector<long long> a(kElems, 1), b(kElems), c(kElems), d(kElems);
  void* buffers[] = {a.data(), b.data(), c.data(), d.data()};
  const std::int64_t scalars[] = {10};
  for (int round = 0; round < 200; ++round) {
    std::fill(b.begin(), b.end(), 0);
    std::vector<KernelStep> steps = {step_of("one", add_scalar, 1, {1, 0}, {0}),
                                     step_of("two", add_scalar, 1, {2, 0}, {0}),
                                     step_of("three", reverse, 32, {3, 1})};
    steps[2].barrier_before = false;
    CHECK_OK(run_on_card(steps, buffers, scalars));
    CHECK_EQ(d[0], 11);
    CHECK_EQ(d[kElems - 1], 11);
  }
}

TEST(a_wait_of_a_single_core_step_holds_for_the_whole_team) {
  std::vector<long long> a(kElems, 1), b(kElems), c(kElems), d(kElems);
  void* buffers[] = {a.data(), b.data(), c.data(), d.data()};
  const std::int64_t scalars[] = {10};
  for (int round = 0; round < 200; ++round) {
    std::fill(b.begin(), b.end(), 0);
    std::vector<KernelStep> steps = {step_of("one", add_scalar, 32, {1, 0}, {0}),
                                     step_of("two", add_scalar, 1, {2, 1}, {0}),
                                     step_of("three", reverse, 32, {3, 1})};
    steps[2].barrier_before = false;  // the one before step two separates it from step one
    CHECK_OK(run_on_card(steps, buffers, scalars));
    CHECK_EQ(c[0], 21);
    CHECK_EQ(d[0], 11);
    CHECK_EQ(d[kElems - 1], 11);
  }
}

TEST(a_kernel_fault_names_kernel_check_value_and_limits) {
  for (bool parallel : {false, true}) {
    std::atomic<int> calls[32] = {};
    void* buffers[] = {calls};
    KernelStep bad = step_of("index_select_3", faulty, 8, {});
    bad.checks = {"axis 0 of weight", "axis 1 of weight"};
    KernelStep after = step_of("after", count_calls, 4, {});
    after.workspace_slot = 0;
    const Status status = run_on_card({bad, after}, buffers, nullptr, parallel);
    CHECK_CODE(status, StatusCode::kKernelFault);
    CHECK_CONTAINS(status.message,
                   "kernel 'index_select_3' failed: axis 1 of weight: index 17 is out of bounds "
                   "[-10, 10)");
    CHECK_EQ(calls[0].load(), 0);
    CHECK_OK(run_on_card({after}, buffers, nullptr, parallel));  // the card works on
    CHECK_EQ(calls[0].load(), 1);
  }
}

TEST(an_exception_in_a_kernel_does_not_leave_the_region) {
  for (bool parallel : {false, true}) {
    const Status status =
        run_on_card({step_of("thrower", throwing, 32, {})}, nullptr, nullptr, parallel);
    CHECK_CODE(status, StatusCode::kExternal);
    CHECK_CONTAINS(status.message, "kernel 'thrower': inside a region");
  }
}

TEST(an_empty_plan_is_fine) { CHECK_OK(run_on_card({}, nullptr, nullptr)); }

TEST(host_threads_may_run_plans_serially_at_once) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      std::vector<long long> in(kElems, t), out(kElems);
      void* buffers[] = {out.data(), in.data()};
      const std::int64_t scalars[] = {100};
      for (int i = 0; i < 50; ++i) {
        CHECK_OK(run_steps({step_of("add", add_scalar, 4, {0, 1}, {0})}, buffers, scalars, false));
        CHECK_EQ(out[kElems - 1], 100 + t);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}
