#include "device/stream.h"

#include <numeric>
#include <stdexcept>
#include <thread>

#include "check.h"
#include "gate.h"

using namespace spyre::device;

namespace {

std::vector<int> counting(int n) {
  std::vector<int> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), 0);
  return values;
}

}  // namespace

TEST(work_of_a_stream_runs_in_order_across_engines) {
  const StreamRef stream = create_stream(0, 0);
  Log log;
  for (int i = 0; i < 500; ++i) {
    CHECK_OK(enqueue(stream, [&log, i] { log.add(i); }, i % 3 ? Engine::kCompute : Engine::kDma));
  }
  CHECK_OK(synchronize(stream));
  CHECK(log.values() == counting(500));
  CHECK_OK(destroy_stream(stream));
}

TEST(enqueue_returns_before_the_work_ran) {
  const StreamRef stream = create_stream(0, 0);
  auto gate = std::make_shared<Gate>();
  CHECK(is_idle(stream));
  CHECK_OK(enqueue_gate(stream, gate));
  CHECK(!is_idle(stream));
  CHECK(!query(stream));
  bool inline_ok = true;
  CHECK_OK(may_run_inline(stream, &inline_ok));
  CHECK(!inline_ok);
  gate->open();
  CHECK_OK(synchronize(stream));
  CHECK(is_idle(stream) && query(stream));
  CHECK_OK(may_run_inline(stream, &inline_ok));
  CHECK(inline_ok);
  CHECK_OK(destroy_stream(stream));
}

TEST(a_stream_that_waits_for_dma_does_not_block_others) {
  const StreamRef slow = create_stream(0, 0), fast = create_stream(0, 0);
  auto gate = std::make_shared<Gate>();
  CHECK_OK(enqueue_gate(slow, gate, Engine::kDma));
  int done = 0;
  CHECK_OK(enqueue(fast, [&done] { done = 1; }));
  CHECK_OK(synchronize(fast));
  CHECK_EQ(done, 1);
  CHECK(!query(slow));
  gate->open();
  CHECK_OK(destroy_stream(slow));
  CHECK_OK(destroy_stream(fast));
}

TEST(higher_priority_runs_first) {
  const StreamRef low = create_stream(0, 0), high = create_stream(0, -1),
                  top = create_stream(0, -9);
  CHECK_EQ(stream_priority(low), 0);
  CHECK_EQ(stream_priority(top), kHighestPriority);
  auto gate = std::make_shared<Gate>();
  CHECK_OK(enqueue_gate(low, gate));
  gate->wait_until_reached();
  Log log;
  for (int i = 0; i < 3; ++i) {
    CHECK_OK(enqueue(low, [&log] { log.add(0); }));
    CHECK_OK(enqueue(high, [&log] { log.add(1); }));
    CHECK_OK(enqueue(top, [&log] { log.add(2); }));
  }
  gate->open();
  CHECK_OK(synchronize_device(0));
  CHECK((log.values() == std::vector<int>{2, 2, 2, 1, 1, 1, 0, 0, 0}));
  for (StreamRef stream : {low, high, top}) CHECK_OK(destroy_stream(stream));
}

TEST(streams_of_one_priority_take_turns) {
  const StreamRef a = create_stream(0, 0), b = create_stream(0, 0), first = create_stream(0, 0);
  auto gate = std::make_shared<Gate>();
  CHECK_OK(enqueue_gate(first, gate));
  Log log;
  for (int i = 0; i < 3; ++i) CHECK_OK(enqueue(a, [&log] { log.add(1); }));
  for (int i = 0; i < 3; ++i) CHECK_OK(enqueue(b, [&log] { log.add(2); }));
  gate->open();
  CHECK_OK(synchronize_device(0));
  CHECK((log.values() == std::vector<int>{1, 2, 1, 2, 1, 2}));
  for (StreamRef stream : {a, b, first}) CHECK_OK(destroy_stream(stream));
}

TEST(eight_threads_enqueue_to_shared_streams) {
  const StreamRef shared[2] = {create_stream(0, 0), create_stream(1, 0)};
  int counters[2] = {0, 0};  // guarded by the order of each stream alone
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 400; ++i) {
        for (int s = 0; s < 2; ++s) {
          CHECK_OK(enqueue(
              shared[s], [counter = &counters[s]] { ++*counter; },
              i % 2 ? Engine::kCompute : Engine::kDma));
        }
        if (i % 100 == 0) CHECK_OK(synchronize(shared[0]));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_OK(synchronize_device(0));
  CHECK_OK(synchronize_device(1));
  CHECK_EQ(counters[0], 3200);
  CHECK_EQ(counters[1], 3200);
  for (StreamRef stream : shared) CHECK_OK(destroy_stream(stream));
}

TEST(a_full_queue_blocks_and_then_goes_on) {
  const StreamRef stream = create_stream(0, 0);
  auto gate = std::make_shared<Gate>();
  CHECK_OK(enqueue_gate(stream, gate));
  std::atomic<int> sent{0};
  int ran = 0;
  std::thread producer([&] {
    for (int i = 0; i < 5000; ++i) {
      CHECK_OK(enqueue(stream, [&ran] { ++ran; }));
      ++sent;
    }
  });
  while (sent.load() < 4095) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK_EQ(sent.load(), 4095);  // the gate is the 4096th entry
  gate->open();
  producer.join();
  CHECK_OK(synchronize(stream));
  CHECK_EQ(ran, 5000);
  CHECK_OK(destroy_stream(stream));
}

TEST(work_is_destroyed_before_it_counts_as_finished) {
  const StreamRef stream = create_stream(0, 0);
  auto held = std::make_shared<int>(7);
  CHECK_OK(enqueue(stream, [held] { CHECK_EQ(*held, 7); }));
  CHECK_OK(synchronize(stream));
  CHECK_EQ(held.use_count(), 1);
  CHECK_OK(destroy_stream(stream));
}

TEST(work_may_call_back_for_its_own_stream) {
  const StreamRef stream = create_stream(0, 0), other = create_stream(0, 0);
  auto gate = std::make_shared<Gate>();
  CHECK_OK(enqueue_gate(other, gate, Engine::kDma));
  CHECK_OK(enqueue(stream, [&] {
    bool inline_ok = false;
    CHECK_OK(may_run_inline(stream, &inline_ok));
    CHECK(inline_ok);
    CHECK_OK(synchronize(stream));
    CHECK_CODE(synchronize(other), StatusCode::kInvalidArgument);
    CHECK_OK(enqueue(stream, [] {}));
  }));
  CHECK_OK(synchronize(stream));
  gate->open();
  CHECK_OK(destroy_stream(other));
  CHECK_OK(destroy_stream(stream));
}

TEST(pool_streams_repeat_after_32_and_have_their_priority) {
  const StreamRef first = stream_from_pool(0, -1);
  CHECK(is_stream(first));
  CHECK_EQ(stream_priority(first), -1);
  for (int i = 0; i < 31; ++i) CHECK(!(stream_from_pool(0, -1) == first));
  CHECK(stream_from_pool(0, -1) == first);
  CHECK_CODE(destroy_stream(first), StatusCode::kInvalidArgument);
}

TEST(a_destroyed_stream_is_refused_even_when_its_slot_is_used_again) {
  const StreamRef old = create_stream(0, 0);
  CHECK_OK(destroy_stream(old));
  const StreamRef fresh = create_stream(0, 0);
  CHECK(!(old == fresh));
  CHECK(!is_stream(old));
  CHECK_CODE(enqueue(old, [] {}), StatusCode::kInvalidArgument);
  CHECK_CODE(synchronize(old), StatusCode::kInvalidArgument);
  CHECK_OK(enqueue(fresh, [] {}));
  CHECK_OK(destroy_stream(fresh));
}

TEST(wrong_cards_and_streams_are_named) {
  const Status card = synchronize({7, 0});
  CHECK_CODE(card, StatusCode::kInvalidDevice);
  CHECK_CONTAINS(card.message, "invalid device ordinal 7");
  CHECK_CODE(synchronize_device(-1), StatusCode::kInvalidDevice);
  CHECK_CODE(enqueue({0, 123456789}, [] {}), StatusCode::kInvalidArgument);
  CHECK(!is_stream(create_stream(9, 0)));
}

namespace {
std::atomic<int> hooks_before{0}, hooks_after{0};
}

TEST(wait_hooks_run_only_when_a_wait_blocks) {
  const StreamRef stream = create_stream(0, 0);
  set_wait_hooks(
      []() -> void* {
        ++hooks_before;
        return &hooks_before;
      },
      [](void* token) {
        CHECK(token == &hooks_before);
        ++hooks_after;
      });
  CHECK_OK(synchronize(stream));
  CHECK_EQ(hooks_before.load(), 0);
  CHECK_OK(enqueue(stream, [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }));
  CHECK_OK(synchronize(stream));
  CHECK_EQ(hooks_before.load(), 1);
  CHECK_EQ(hooks_after.load(), 1);
  set_wait_hooks(nullptr, nullptr);
  CHECK_OK(destroy_stream(stream));
}
