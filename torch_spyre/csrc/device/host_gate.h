// A point in time that something outside the card decides: streams wait for it as for an event, and
// the host opens it. Thread safety: every function may be called from any thread.
#pragma once
#include <memory>

#include "status.h"
#include "stream.h"

namespace spyre::device {

struct Record;

class HostGate {
 public:
  HostGate();
  // Later work of the stream (of any card) waits until the gate is open; the host does not.
  // kCapture while the stream captures: a graph cannot wait for what is outside of it.
  Status wait(StreamRef stream) const;
  // Releases the waiting streams; an error is passed on to them. Opens once, later calls do
  // nothing.
  void open(Status status) const;

 private:
  std::shared_ptr<Record> record_;
};

}  // namespace spyre::device
