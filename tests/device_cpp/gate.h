// Work that holds its stream until the test opens the gate; and work that appends to a log.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device/stream.h"

// Sleeps on the atomic, so a closed gate costs no processor time.
class Gate {
 public:
  void open() {
    open_.store(true);
    open_.notify_all();
  }
  void pass() {
    reached_.store(true);
    reached_.notify_all();
    open_.wait(false);
  }
  // An engine that still starts would take later work of a higher priority first.
  void wait_until_reached() const { reached_.wait(false); }

 private:
  std::atomic<bool> open_{false}, reached_{false};
};

class Log {
 public:
  void add(int value) {
    std::lock_guard lock(mutex_);
    values_.push_back(value);
  }
  std::vector<int> values() const {
    std::lock_guard lock(mutex_);
    return values_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<int> values_;
};

template <class F>
spyre::device::Status enqueue(spyre::device::StreamRef stream, F fn,
                              spyre::device::Engine engine = spyre::device::Engine::kCompute,
                              std::string name = "test_work") {
  return spyre::device::enqueue(stream, engine,
                                spyre::device::make_work(std::move(name), std::move(fn)));
}

inline spyre::device::Status enqueue_gate(
    spyre::device::StreamRef stream, std::shared_ptr<Gate> gate,
    spyre::device::Engine engine = spyre::device::Engine::kCompute) {
  return enqueue(stream, [gate] { gate->pass(); }, engine, "gate");
}
