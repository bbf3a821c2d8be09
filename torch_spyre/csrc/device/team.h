// The host threads that share a plan's virtual cores. Internal to layer 0.
//
// Note [Who helps]: the engine that runs a plan is its thread 0. Others join while it runs: host
// threads that wait for the card anyway, and helpers of the team, which the engine wakes only when
// what is left is worth a wake. So a small plan leaves the other host cores to their owners, and a
// thread that comes late or not at all holds up nobody (team_schedule.h, Note [Claimed cores]).
//
// The team is not OpenMP's: its idle threads spin for milliseconds on a core that the engine or a
// waiting host thread then lacks (measured: 8 ms per launch with two cores and three threads).
#pragma once
#include <atomic>
#include <cstdint>
#include <vector>

#include "launch.h"

namespace spyre::device {

// Runs the steps with whoever joins. Any thread.
Status run_with_team(const std::vector<KernelStep>& steps, void* const* buffers,
                     const std::int64_t* scalars);

// True when a running plan has room for one more thread. One load when there is none.
bool team_wants_help();

// Joins a running plan until nothing is left to claim or `*position` reaches `until`. True when it
// ran anything. For threads that wait for that position.
bool help_team(const std::atomic<std::uint64_t>& position, std::uint64_t until);

}  // namespace spyre::device
