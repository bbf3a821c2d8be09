#include "runtime/generator.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/EmptyTensor.h>
#include <c10/core/GeneratorImpl.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>

#include "device/graph.h"
#include "device/properties.h"
#include "runtime/current.h"
#include "runtime/exception.h"
#include "runtime/generator_states.h"
#include "runtime/stream.h"

namespace spyre::runtime {

namespace {

constexpr std::size_t kStateBytes = 2 * sizeof(std::uint64_t);  // seed, offset

struct CapturedDraws {
  std::mutex mutex;
  std::vector<at::Generator> generators;
};
CapturedDraws& captured() {
  static auto* draws = new CapturedDraws;  // used until the process ends
  return *draws;
}

class GeneratorImpl final : public c10::GeneratorImpl {
 public:
  explicit GeneratorImpl(c10::DeviceIndex index)
      : c10::GeneratorImpl(c10::Device(c10::DeviceType::PrivateUse1, index),
                           c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)),
        cpu_(at::detail::createCPUGenerator(c10::default_rng_seed_val)),
        position_(c10::default_rng_seed_val) {}

  // See Note [Queued draws].
  at::Generator draw_on(device::StreamRef stream) {
    std::lock_guard lock(draws_mutex_);
    if (device::is_capturing(stream)) [[unlikely]] {
      note_captured_draw();
      return captured_cpu_;
    }
    if (last_draw_ && *last_draw_ != stream) {
      wait_for_draws();
    }
    last_draw_ = stream;
    return cpu_;
  }

  ReplayedDraw replay_on(device::StreamRef stream) { return {draw_on(stream), captured_cpu_}; }

  void set_current_seed(std::uint64_t seed) override {
    // Captured work draws from this generator at each replay: it has no seed of its own to set.
    TORCH_CHECK(seed == position_.seed() || !is_initialized() ||
                    !device::is_capturing(current_stream(device().index())),
                "set_current_seed can be called during stream capture only if the new seed is the "
                "same as the original seed");
    std::lock_guard draws(draws_mutex_);
    leave_to_queued_draws();
    std::lock_guard lock(cpu_.mutex());
    cpu_.set_current_seed(seed);
    position_ = EnginePosition(seed);
  }
  std::uint64_t current_seed() const override { return position_.seed(); }
  std::uint64_t seed() override {
    const std::uint64_t seed = c10::detail::getNonDeterministicRandom();
    set_current_seed(seed);
    return seed;
  }

  void set_offset(std::uint64_t offset) override {
    std::lock_guard draws(draws_mutex_);
    leave_to_queued_draws();
    std::lock_guard lock(cpu_.mutex());
    move_to(position_.seed(), offset);
  }
  std::uint64_t get_offset() const override {
    std::lock_guard draws(draws_mutex_);
    wait_for_draws();
    std::lock_guard lock(cpu_.mutex());
    return position_.words_drawn(cpu_impl()->engine());
  }

  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    const std::uint64_t offset = get_offset();
    remember_state({position_.seed(), offset, cpu_impl()->engine().data(),
                    cpu_impl()->next_float_normal_sample(),
                    cpu_impl()->next_double_normal_sample()});
    const std::array<std::uint64_t, 2> words{position_.seed(), offset};
    at::TensorBase tensor =
        at::detail::empty_cpu({static_cast<std::int64_t>(kStateBytes)}, at::kByte);
    std::memcpy(tensor.mutable_data_ptr(), words.data(), kStateBytes);
    return tensor.getIntrusivePtr();
  }

  void set_state(const c10::TensorImpl& state) override {
    at::detail::check_rng_state(state);
    TORCH_CHECK(state.numel() == static_cast<std::int64_t>(kStateBytes),
                "RNG state is wrong size: a spyre generator has ", kStateBytes,
                " bytes (seed, offset), but got ", state.numel());
    std::array<std::uint64_t, 2> words{};
    std::memcpy(words.data(), state.data(), kStateBytes);
    std::lock_guard draws(draws_mutex_);
    leave_to_queued_draws();
    std::lock_guard lock(cpu_.mutex());
    move_to(words[0], words[1]);
  }

 private:
  void note_captured_draw() {
    if (!captured_cpu_.defined()) {
      captured_cpu_ = at::detail::createCPUGenerator(c10::default_rng_seed_val);
    }
    CapturedDraws& draws = captured();
    const std::lock_guard lock(draws.mutex);
    const bool known =
        std::any_of(draws.generators.begin(), draws.generators.end(),
                    [this](const at::Generator& g) { return g.unsafeGetGeneratorImpl() == this; });
    if (!known) {
      draws.generators.emplace_back(c10::intrusive_ptr<c10::GeneratorImpl>::reclaim_copy(this));
    }
  }

  at::CPUGeneratorImpl* cpu_impl() const { return cpu_.get<at::CPUGeneratorImpl>(); }

  bool has_queued_draws() const { return last_draw_ && device::has_queued_work(*last_draw_); }

  // Python holds this generator's mutex during calls: a wait that gave up the GIL could deadlock
  // with a thread that wants both.
  void wait_for_draws() const {
    while (has_queued_draws()) {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }

  // Before the whole state is replaced.
  void leave_to_queued_draws() {
    if (has_queued_draws()) {
      cpu_ = at::detail::createCPUGenerator(c10::default_rng_seed_val);
      last_draw_.reset();
    }
  }

  void move_to(std::uint64_t seed, std::uint64_t offset) {
    if (const std::optional<GeneratorState> state = recall_state(seed, offset)) {
      at::mt19937 engine;
      engine.set_data(state->engine);
      cpu_impl()->set_engine(engine);
      cpu_impl()->set_next_float_normal_sample(state->float_normal);
      cpu_impl()->set_next_double_normal_sample(state->double_normal);
      position_.jump(seed, offset, engine);
      return;
    }
    cpu_impl()->set_engine(position_.engine_at(seed, offset));
    cpu_impl()->set_next_float_normal_sample(std::nullopt);
    cpu_impl()->set_next_double_normal_sample(std::nullopt);
  }

  GeneratorImpl* clone_impl() const override {
    std::lock_guard draws(draws_mutex_);
    wait_for_draws();
    auto* copy = new GeneratorImpl(device().index());
    copy->cpu_ = cpu_.clone();
    copy->position_ = position_;
    return copy;
  }

  mutable at::Generator cpu_;
  at::Generator captured_cpu_;  // of all captured work; from the first capture on
  mutable EnginePosition position_;
  mutable std::mutex draws_mutex_;
  std::optional<device::StreamRef> last_draw_;
};

void enqueue_state_copy(const at::Generator& from, const at::Generator& to,
                        device::StreamRef stream) {
  enqueue_compute(stream, "generator state of a graph", [from, to] {
    auto* source = from.get<at::CPUGeneratorImpl>();
    auto* target = to.get<at::CPUGeneratorImpl>();
    target->set_engine(source->engine());
    target->set_next_float_normal_sample(source->next_float_normal_sample());
    target->set_next_double_normal_sample(source->next_double_normal_sample());
  });
}

std::int64_t checked_index(c10::DeviceIndex index) {
  const int device = index < 0 ? current_device() : index;
  check_device_index(device);
  return device;
}

}  // namespace

const at::Generator& default_generator(c10::DeviceIndex index) {
  static auto* generators = [] {
    auto* made = new std::vector<at::Generator>();  // leaked: Python holds references
    for (int device = 0; device < device::device_count(); ++device) {
      made->push_back(at::make_generator<GeneratorImpl>(static_cast<c10::DeviceIndex>(device)));
    }
    return made;
  }();
  return (*generators)[static_cast<std::size_t>(checked_index(index))];
}

at::Generator new_generator(c10::DeviceIndex index) {
  return at::make_generator<GeneratorImpl>(static_cast<c10::DeviceIndex>(checked_index(index)));
}

at::Generator cpu_generator_of(const std::optional<at::Generator>& generator,
                               device::StreamRef stream) {
  if (!generator.has_value() || !generator->defined()) {
    const auto index = static_cast<c10::DeviceIndex>(stream.device);
    return default_generator(index).get<GeneratorImpl>()->draw_on(stream);
  }
  TORCH_CHECK(generator->device().type() == c10::DeviceType::PrivateUse1,
              "Expected a 'spyre' device type for generator but found '",
              generator->device().type(), "'");
  return generator->get<GeneratorImpl>()->draw_on(stream);
}

std::vector<at::Generator> captured_draws() {
  const std::lock_guard lock(captured().mutex);
  return captured().generators;
}

void forget_captured_draws() {
  const std::lock_guard lock(captured().mutex);
  captured().generators.clear();
}

std::vector<ReplayedDraw> begin_replay(const std::vector<at::Generator>& generators,
                                       device::StreamRef stream) {
  std::vector<ReplayedDraw> draws;
  for (const at::Generator& generator : generators) {
    const ReplayedDraw draw = generator.get<GeneratorImpl>()->replay_on(stream);
    enqueue_state_copy(draw.current, draw.captured, stream);
    draws.push_back(draw);
  }
  return draws;
}

void end_replay(const std::vector<ReplayedDraw>& draws, device::StreamRef stream) {
  for (const ReplayedDraw& draw : draws) {
    enqueue_state_copy(draw.captured, draw.current, stream);
  }
}

}  // namespace spyre::runtime
