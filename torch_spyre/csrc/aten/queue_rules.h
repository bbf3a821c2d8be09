// What the boxed kernel asks before it queues a call instead of waiting for it.
#pragma once
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include "aten/cpu_alias.h"
#include "aten/operator_record.h"

namespace spyre::aten {

// Small enough for the calling thread: Note [Inline execution] in device/stream.h.
bool is_small(const OperatorRecord& record, const AliasSet& aliases);

// A user's own out= may have to be resized or refused; the one that the structured wrapper made may
// not, and has never been seen by Python. `arguments` are aliases.
bool outputs_fit(const OperatorRecord& record, const AliasSet& aliases,
                 const torch::jit::Stack& arguments);

// Wrong bounds must be raised by the call, as on CUDA: the kernel runs on empty tensors first, with
// a generator that nobody uses. False when the tensors' shapes need the kernel's own look.
bool can_queue_random(const c10::OperatorHandle& op, c10::DispatchKey key,
                      const torch::jit::Stack& arguments);

}  // namespace spyre::aten
