#include "runtime/generator_states.h"

#include <c10/util/Exception.h>

#include <list>
#include <mutex>

namespace spyre::runtime {

namespace {

constexpr std::uint64_t kBlockWords = at::MERSENNE_STATE_N;
constexpr std::size_t kRememberedStates = 64;

std::uint64_t blocks_for(std::uint64_t words) { return (words + kBlockWords - 1) / kBlockWords; }

std::mutex g_states_mutex;
std::list<GeneratorState>& states() {
  static auto* list = new std::list<GeneratorState>();  // leaked: generators live to the end
  return *list;
}

}  // namespace

void EnginePosition::advance_block() {
  at::mt19937_data_pod data = engine_.data();
  data.left_ = 1;  // the next draw generates a new block
  engine_.set_data(data);
  engine_();
  ++blocks_;
}

std::uint64_t EnginePosition::words_drawn(const at::mt19937& engine) {
  TORCH_CHECK(engine.seed() == seed_,
              "The CPU generator inside a spyre generator was seeded from outside");
  const at::mt19937_data_pod target = engine.data();
  while (engine_.data().state_ != target.state_) {
    advance_block();
  }
  return blocks_ == 0 ? 0 : (blocks_ - 1) * kBlockWords + target.next_;
}

at::mt19937 EnginePosition::engine_at(std::uint64_t seed, std::uint64_t words) {
  if (seed != seed_ || blocks_for(words) < blocks_) {
    *this = EnginePosition(seed);
  }
  while (blocks_ < blocks_for(words)) {
    advance_block();
  }
  at::mt19937 result = engine_;
  if (blocks_ > 0) {
    at::mt19937_data_pod data = engine_.data();
    data.next_ = static_cast<std::uint32_t>(words - (blocks_ - 1) * kBlockWords);
    data.left_ = static_cast<int>(kBlockWords - data.next_ + 1);
    result.set_data(data);
  }
  return result;
}

void EnginePosition::jump(std::uint64_t seed, std::uint64_t words, const at::mt19937& engine) {
  seed_ = seed;
  blocks_ = blocks_for(words);
  engine_ = engine;
}

void remember_state(const GeneratorState& state) {
  std::lock_guard lock(g_states_mutex);
  states().remove_if([&](const GeneratorState& other) {
    return other.seed == state.seed && other.offset == state.offset;
  });
  states().push_front(state);
  if (states().size() > kRememberedStates) {
    states().pop_back();
  }
}

std::optional<GeneratorState> recall_state(std::uint64_t seed, std::uint64_t offset) {
  std::lock_guard lock(g_states_mutex);
  for (const GeneratorState& state : states()) {
    if (state.seed == seed && state.offset == offset) {
      return state;
    }
  }
  return std::nullopt;
}

}  // namespace spyre::runtime
