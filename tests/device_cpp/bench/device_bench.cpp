// Micro benchmarks of layer 0. Each figure is the least of many rounds, so load disturbs it little.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <vector>

#include "device/activity.h"
#include "device/allocator.h"
#include "device/event.h"
#include "device/launch.h"
#include "device/properties.h"
#include "device/stream.h"

using namespace spyre::device;

namespace {

constexpr StreamRef kStream{0, kDefaultStream};

void must(const Status& status) {
  if (status.is_ok()) return;
  std::fprintf(stderr, "failed: %s\n", status.message.c_str());
  std::exit(1);
}

// Nanoseconds per call of `body`: the best of `rounds` rounds of `calls`.
template <class F, class G>
double best_ns(int rounds, int calls, F body, G after_round) {
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < rounds; ++round) {
    const std::int64_t start = now_ns();
    for (int call = 0; call < calls; ++call) body();
    best = std::min(best, static_cast<double>(now_ns() - start) / calls);
    after_round();
  }
  return best;
}

void print(const char* what, double ns) { std::printf("%-58s %10.1f ns\n", what, ns); }

void tiny_kernel(const spyre_kernel_args* args, int core, int) {
  static_cast<int*>(args->buffers[0])[16 * core] += 1;
}

void plans() {
  std::vector<int> values(16 * kCoresPerCard);
  void* buffers[] = {values.data(), values.data(), values.data()};
  const std::int64_t scalars[] = {1, 2};
  for (int cores : {1, 2, 32}) {
    for (bool parallel : {false, true}) {
      KernelStep step;
      step.name = "tiny";
      step.entry = tiny_kernel;
      step.cores = cores;
      step.buffer_slots = {0, 1, 2};
      step.scalar_slots = {0, 1};
      const std::vector<KernelStep> steps(200, step);
      double best = std::numeric_limits<double>::infinity();
      for (int round = 0; round < 300; ++round) {
        must(enqueue(kStream, Engine::kCompute, make_work("plan", [&] {
                       const std::int64_t start = now_ns();
                       Status status = run_steps(steps, buffers, scalars, parallel);
                       best = std::min(best, static_cast<double>(now_ns() - start) / 200);
                       return status;
                     })));
        must(synchronize(kStream));
      }
      char text[80];
      std::snprintf(text, sizeof(text), "per step of 200: %d core(s), %s", cores,
                    parallel ? "team" : "serial");
      print(text, best);
    }
  }
}

}  // namespace

int main() {
  const auto nothing = [] {};
  const auto wait = [] { must(synchronize(kStream)); };
  std::printf("team of %d threads\n", team_size());
  bool inline_ok = false;
  must(enqueue(kStream, Engine::kCompute, make_work("warm", [] {})));
  wait();
  print("may_run_inline, idle stream",
        best_ns(50, 1000, [&] { must(may_run_inline(kStream, &inline_ok)); }, nothing));
  print("synchronize, idle stream", best_ns(50, 1000, wait, nothing));
  print("synchronize_device, idle card",
        best_ns(50, 1000, [] { must(synchronize_device(0)); }, nothing));
  print("enqueue of empty work, 500 in a row",
        best_ns(
            200, 500, [] { must(enqueue(kStream, Engine::kCompute, make_work("empty", [] {}))); },
            wait));
  print("make_work alone", best_ns(50, 1000, [] { (void)make_work("empty", [] {}); }, nothing));
  print("enqueue + synchronize, engine awake",
        best_ns(
            20000, 1,
            [] {
              must(enqueue(kStream, Engine::kCompute, make_work("empty", [] {})));
              must(synchronize(kStream));
            },
            nothing));
  print("enqueue + synchronize, mean",
        best_ns(
            3, 2000,
            [] {
              must(enqueue(kStream, Engine::kCompute, make_work("empty", [] {})));
              must(synchronize(kStream));
            },
            nothing));
  Event event(0);
  print("event record, idle stream",
        best_ns(50, 1000, [&] { must(event.record(kStream)); }, nothing));
  print("event wait, complete", best_ns(50, 1000, [&] { must(event.wait(kStream)); }, nothing));

  CachingAllocator& allocator = CachingAllocator::of(0);
  for (std::size_t nbytes : {std::size_t{512}, std::size_t{100'000}, std::size_t{8} << 20}) {
    char text[64];
    std::snprintf(text, sizeof(text), "allocate + free, %zu bytes", nbytes);
    print(text, best_ns(
                    100, 1000,
                    [&] {
                      void* address = nullptr;
                      must(allocator.allocate(nbytes, 0, &address));
                      allocator.free(address);
                    },
                    nothing));
  }
  std::vector<void*> live(1000);
  void* base = nullptr;
  std::size_t size = 0, next = 0;
  for (void*& address : live) must(allocator.allocate(1000, 0, &address));
  print("find_block, base address among 1000 blocks",
        best_ns(
            100, 1000, [&] { allocator.find_block(live[next++ % 1000], &base, &size); }, nothing));
  print("find_block, inner address among 1000 blocks",
        best_ns(
            100, 1000,
            [&] {
              allocator.find_block(static_cast<char*>(live[next++ % 1000]) + 500, &base, &size);
            },
            nothing));
  int found = 0;
  print("device_of_address",
        best_ns(100, 1000, [&] { found += device_of_address(live[next++ % 1000]); }, nothing));
  for (void* address : live) allocator.free(address);
  plans();
  return found < 0;
}
