// SPDX-License-Identifier: Apache-2.0
// A machine with one GPU whose processes obey, ignore signals, are stuck, are started again, die
// without being cleaned up, or get the number of one that died; and whose rungs work, fail, or
// never come back. Time passes only when somebody waits. It writes down every act, and whatever
// must never happen.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "facts/facts.h"
#include "facts/occupancy.h"
#include "plan/reclaim/reclaim_plan.h"
#include "reclaim/kernel.h"

namespace headroom::testing {

enum class Reaction {
  obeys,    // Ends some time after SIGTERM.
  ignores,  // Ends on SIGKILL only.
  stuck,    // State D: no signal reaches it.
};

struct SimulatedProcess {
  std::uint64_t pid = 0;
  std::uint64_t start_ticks = 0;
  std::string command = "python3";
  std::uint64_t uid = 1000;
  std::string unit, container;
  Bytes holds;
  Reaction reaction = Reaction::obeys;
  std::uint64_t ends_after_ms = 100;   // A signal.
  std::uint64_t freed_after_ms = 100;  // Its end.
  bool never_freed = false;            // Its release is stuck: KFD lists it for ever.
  bool restarted = false;              // Its unit starts it again.
  bool left_behind = false;
  bool client = true;  // Has the GPU open.

  bool alive = true;
  bool listed = true;  // Its memory is not freed yet.
  std::uint64_t ends_at = never, freed_at = never, restarts_at = never;

  static constexpr std::uint64_t never = UINT64_MAX;
};

// What a rung of the driver does when it is taken.
enum class Answer { works, refuses, no_permission, hangs };

struct World {
  std::vector<SimulatedProcess> processes;
  Bytes capacity = 16_GiB;
  Bytes own = 200_MiB;  // The driver's.
  Bytes pool;           // Given back when the pool is emptied.
  bool integrated = false;
  bool container = false;  // This program runs in one.
  bool root = true;
  bool hidden = false;  // Not every process can be looked into.
  Answer write = Answer::works, run = Answer::works, reset = Answer::works;
  bool measuring_fails = false;     // Once the driver was touched.
  bool number_taken_early = false;  // A target ends before it is held, its number is another's.
  std::uint64_t now_ms = 0;
};

// Everything random about it comes from the seed.
World make_world(std::uint64_t seed);

constexpr const char* simulated_gpu = "0000:03:00.0";
facts::Facts facts_of(const World& world);
facts::Occupancy occupancy_of(const World& world);

class SimulatedKernel : public reclaim::Kernel {
 public:
  SimulatedKernel(World& world, const plan::ReclaimPlan& plan) : world_(world), plan_(plan) {}

  std::uint64_t now_ms() override { return world_.now_ms; }
  void wait_ms(std::uint64_t duration_ms) override;
  Result<plan::Measurement> measure() override;
  Result<int> hold(std::uint64_t pid, std::uint64_t start_ticks) override;
  Status send(int held, reclaim::Signal signal) override;
  bool wait_ended(int held, std::uint64_t timeout_ms) override;
  char state(int held) override;
  Status write(const std::string& path, const std::string& text, std::uint64_t timeout_ms) override;
  Status run(const std::vector<std::string>& argv, std::uint64_t timeout_ms) override;
  Status reset_gpu(std::uint64_t card, std::uint64_t timeout_ms) override;

  int acts = 0;  // Signals, writes, commands, resets.
  int measurements = 0;
  std::vector<std::string> crimes;  // What must never happen.

 private:
  void act(plan::Rung rung, const std::string& what);
  void end(SimulatedProcess& process);
  void pass_to(std::uint64_t time_ms);
  void accuse_living_clients(const std::string& what, bool of_chosen_too);
  Status answer(Answer answer, std::uint64_t timeout_ms, const std::string& what);
  bool is_target(const SimulatedProcess& process) const;
  void stop_members(const std::vector<std::string>& argv);

  World& world_;
  const plan::ReclaimPlan& plan_;
  std::vector<std::size_t> held_;
  bool last_was_enough_ = false;
  bool touched_driver_ = false;
};

}  // namespace headroom::testing
