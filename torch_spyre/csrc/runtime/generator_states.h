// Positions in a Mersenne Twister's stream of words, and the recent states of all generators.
// See Note [Generator state].
#pragma once
#include <ATen/core/MT19937RNGEngine.h>

#include <cstdint>
#include <optional>

namespace spyre::runtime {

// Knows one state of the engine and how many words lie before it; from there it finds others by
// walking forward. Not thread safe.
class EnginePosition {
 public:
  explicit EnginePosition(std::uint64_t seed) : seed_(seed), engine_(seed) {}

  std::uint64_t seed() const { return seed_; }
  // Words drawn since seeding by an engine with this seed. Throws RuntimeError for another seed.
  std::uint64_t words_drawn(const at::mt19937& engine);
  // The engine after `words` draws from `seed`.
  at::mt19937 engine_at(std::uint64_t seed, std::uint64_t words);
  // Takes over a known pair of engine and position.
  void jump(std::uint64_t seed, std::uint64_t words, const at::mt19937& engine);

 private:
  void advance_block();

  std::uint64_t seed_;
  std::uint64_t blocks_ = 0;  // blocks of 624 words generated; 0: freshly seeded
  at::mt19937 engine_;
};

struct GeneratorState {
  std::uint64_t seed = 0, offset = 0;
  at::mt19937_data_pod engine{};
  std::optional<float> float_normal;  // second half of a pair, not yet handed out
  std::optional<double> double_normal;
};

// The last 64 states that were read, of all generators; thread safe.
void remember_state(const GeneratorState& state);
std::optional<GeneratorState> recall_state(std::uint64_t seed, std::uint64_t offset);

}  // namespace spyre::runtime
