// Brackets a host thread's sleep with the wait hooks of layer 1 (which release Python's GIL).
#pragma once

namespace spyre::device {

class BlockingWait {
 public:
  BlockingWait() = default;
  ~BlockingWait() { end(); }
  BlockingWait(const BlockingWait&) = delete;
  BlockingWait& operator=(const BlockingWait&) = delete;

  void begin();  // before the first sleep; repeated calls do nothing
  void end();    // without locks of layer 0 held: the hook may block

 private:
  bool begun_ = false;
  void* token_ = nullptr;
  void (*after_)(void*) = nullptr;
};

}  // namespace spyre::device
