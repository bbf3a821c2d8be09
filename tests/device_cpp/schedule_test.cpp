#include "device/team_schedule.h"

#include <atomic>
#include <thread>
#include <vector>

#include "check.h"

using namespace spyre::device;

TEST(every_core_of_every_step_is_claimed_once_by_threads_of_any_speed) {
  constexpr int kThreads = 3, kSteps = 300, kCores = 32;
  std::vector<std::atomic<int>> claims(kSteps * kCores);
  TeamSchedule schedule;
  schedule.reset(kThreads);
  const auto run = [&](int thread) {
    for (int step = 0; step < kSteps; ++step) {
      if (step % 4 == 0) schedule.wait_finished(static_cast<std::uint64_t>(step) * kCores);
      if (step % 50 == 10 * thread) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      int taken = 0, first = 0, last = 0;
      for (int turn = 0; turn < kThreads; ++turn) {
        while (schedule.claim(step, kCores, (thread + turn) % kThreads, kThreads, &first, &last)) {
          for (int core = first; core < last; ++core) ++claims[step * kCores + core];
          taken += last - first;
        }
      }
      schedule.finish(taken);
    }
  };
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) threads.emplace_back(run, thread);
  for (std::thread& thread : threads) thread.join();
  for (const std::atomic<int>& count : claims) CHECK_EQ(count.load(), 1);
  schedule.wait_finished(kSteps * kCores);
}

TEST(a_thread_that_never_comes_holds_up_nobody) {
  TeamSchedule schedule;
  schedule.reset(4);
  int first = 0, last = 0;
  for (int step = 0; step < 3; ++step) {
    schedule.wait_finished(static_cast<std::uint64_t>(step) * 8);
    int taken = 0;
    for (int owner = 0; owner < 4; ++owner) {
      while (schedule.claim(step, 8, owner, 4, &first, &last)) taken += last - first;
    }
    CHECK_EQ(taken, 8);
    schedule.finish(taken);
  }
}
