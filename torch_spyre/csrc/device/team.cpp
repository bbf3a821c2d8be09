#include "team.h"

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <exception>
#include <mutex>
#include <thread>

#include "activity.h"
#include "futex.h"
#include "plan_run.h"
#include "signals_blocked.h"
#include "spin.h"

namespace spyre::device {
namespace {

constexpr int kRuns = 8;                         // plans that run at once with helpers
constexpr std::int64_t kWakeAfterNs = 10'000;    // shorter plans end before a woken thread arrives
constexpr std::int64_t kWorthWakingNs = 60'000;  // estimated rest of the plan

// Note [Joining]: a helper counts itself in `joined` and then looks at `open`; the owner fills a
// run only while nobody is counted, opens it, and closes it without waiting for those who still
// look for something to claim. What they read stays, since a counted run is not filled again.
struct SharedRun {
  std::atomic<bool> owned{false};
  std::atomic<bool> open{false};
  std::atomic<int> joined{0};
  PlanRun plan;
};

struct Team {
  const int threads = team_size();
  std::array<SharedRun, kRuns> runs;
  std::atomic<int> open_runs{0};
  std::atomic<int> sleeping{0};
  std::atomic<std::uint32_t> signal{0};
  Spinner idle_spin;
  std::once_flag started;
};

// Leaked: its threads outlive static destructors.
Team& the_team() {
  static Team* team = new Team;
  return *team;
}

SharedRun* take_run(Team& team) {
  for (SharedRun& run : team.runs) {
    if (run.owned.load(std::memory_order_relaxed) || run.owned.exchange(true)) continue;
    if (run.joined.load() == 0) return &run;
    run.owned.store(false, std::memory_order_release);
  }
  return nullptr;
}

// Joins any open run that has room. True when it ran anything.
template <class F>
bool help_any(Team& team, F leave) {
  for (SharedRun& run : team.runs) {
    if (!run.open.load(std::memory_order_relaxed)) continue;
    const int others = run.joined.fetch_add(1);
    const bool room = others + 1 < team.threads && run.open.load();
    const bool ran = room && run.plan.help(others + 1, leave);
    run.joined.fetch_sub(1, std::memory_order_release);
    if (ran) return true;
  }
  return false;
}

// Note [OpenMP's spin]: libgomp's idle workers spin for milliseconds unless it manages more threads
// than the host has cores (documentation of GOMP_SPINCOUNT). Eager operators' regions leave such a
// worker beside us; one parked region more makes its spins short.
void shorten_openmp_spins() {
#pragma omp parallel num_threads(2)
  {
    asm volatile("");
  }
}

void helper_main(Team& team, int index) {
  pthread_setname_np(pthread_self(), "spyre-team");
  if (index == 0) shorten_openmp_spins();
  const auto stay = [] { return false; };
  for (;;) {
    if (help_any(team, stay)) continue;
    const std::uint32_t seen = team.signal.load();
    if (team.idle_spin.spin([] { return team_wants_help(); }) && help_any(team, stay)) continue;
    team.sleeping.fetch_add(1);  // a wake that this misses is made up for after the next piece
    futex_wait(team.signal, seen);
    team.sleeping.fetch_sub(1);
  }
}

void start_helpers(Team& team) {
  const SignalsBlocked inherited_by_the_threads;
  for (int index = 0; index < team.threads - 1; ++index) {
    try {
      std::thread([&team, index] { helper_main(team, index); }).detach();
    } catch (const std::exception&) {
      return;  // fewer helpers: slower, not wrong
    }
  }
}

void wake_helpers(Team& team) {
  std::call_once(team.started, [&team] { start_helpers(team); });
  if (team.sleeping.load() == 0) return;
  team.signal.fetch_add(1);
  futex_wake(team.signal);
}

// Called by the owner after each piece: wakes helpers when they sleep and the rest is worth it.
class LateWake {
 public:
  LateWake(Team& team, const SharedRun& run) : team_(team), run_(run) {}

  void operator()() {
    const bool full = run_.joined.load(std::memory_order_relaxed) + 1 >= team_.threads;
    if (full || (started_ && team_.sleeping.load(std::memory_order_relaxed) == 0)) return;
    const std::int64_t elapsed = now_ns() - started_ns_;
    if (elapsed < kWakeAfterNs) return;
    const auto finished = static_cast<double>(run_.plan.cores_finished());
    const double left = static_cast<double>(run_.plan.cores_in_all()) - finished;
    if (static_cast<double>(elapsed) * left / std::max(finished, 1.0) < kWorthWakingNs) return;
    started_ = true;
    wake_helpers(team_);
  }

 private:
  Team& team_;
  const SharedRun& run_;
  const std::int64_t started_ns_ = now_ns();
  bool started_ = false;
};

}  // namespace

Status run_with_team(const std::vector<KernelStep>& steps, void* const* buffers,
                     const std::int64_t* scalars) {
  Team& team = the_team();
  SharedRun* run = team.threads > 1 ? take_run(team) : nullptr;
  if (run == nullptr) return run_steps(steps, buffers, scalars, false);
  run->plan.prepare(steps, buffers, scalars, team.threads);
  run->open.store(true);
  team.open_runs.fetch_add(1);
  run->plan.run_first(LateWake(team, *run));
  team.open_runs.fetch_sub(1);
  run->open.store(false);
  run->plan.report(steps);
  Status status = run->plan.status(steps);
  run->owned.store(false, std::memory_order_release);
  return status;
}

bool team_wants_help() {
  Team& team = the_team();
  if (team.open_runs.load(std::memory_order_acquire) == 0) return false;
  return std::any_of(team.runs.begin(), team.runs.end(), [&team](const SharedRun& run) {
    return run.open.load(std::memory_order_acquire) &&
           run.joined.load(std::memory_order_relaxed) + 1 < team.threads &&
           run.plan.cores_finished() < run.plan.cores_in_all();
  });
}

bool help_team(const std::atomic<std::uint64_t>& position, std::uint64_t until) {
  return help_any(the_team(), [&] { return position.load(std::memory_order_acquire) >= until; });
}

}  // namespace spyre::device
