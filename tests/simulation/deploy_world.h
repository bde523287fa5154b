// SPDX-License-Identifier: Apache-2.0
// A service on a machine that exists only here: its files, its processes, the journal of changes
// and a clock that jumps from event to event. It does what a deployer says as the real driver
// would, can be killed at any action, and remembers what was done to it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "deploy/deployer.h"

namespace headroom::simulation {

using deploy::Time;

// How a configuration behaves once it is started.
enum class Way : std::uint8_t {
  good,
  never_healthy,
  dies_at_start,   // Again and again, before it is healthy.
  aborts_at_load,  // With code 134 at the first request.
  dies_later,      // Some time into the watch; its manager starts it again.
  leaks,
  out_of_memory,  // Its limit ends it at the first request.
  hangs_at_load,  // The first request is never answered.
  hangs_later,    // Some time into the watch it answers no more.
  fails,          // Status 500.
  answers_wrongly,
  on_cpu,  // Right and fast, without the GPU.
  slow,
  ends_by_itself,      // With code 0, some time into the watch.
  logged_death,        // As aborts_at_load, and the log rules are sure of the cause.
  restarted_by_other,  // Good, and somebody restarts it in the middle of the smoke test.
};

// What goes wrong on the machine besides.
struct Trouble {
  bool old_is_stopped = false;  // It does not run when the deployment begins.
  bool old_is_broken = false;   // It fails its smoke test.
  int old_start_failures = 0;   // So often it does not come up again after the roll-back.
  int undo_failures = 0;
  bool apply_fails = false;
  bool gate_refuses = false;
  std::optional<int> keep_fails_at;      // This Keep, and all after it.
  std::optional<std::size_t> signal_at;  // Before this action somebody wants it to end.
};

enum class Files : std::uint8_t { old, partly, wholly_new };

// What a kill does to the machine.
struct Kill {
  std::size_t at = 0;      // Before the action of this number (from 0) of the run,
  bool half_done = false;  // or in the middle of it.
  bool reboots = false;    // The machine as well: it starts the service again from its files.
};

class World {
 public:
  World(deploy::ServiceSpec spec, deploy::Options options, Way way, Trouble trouble,
        std::uint64_t seed);

  // Runs a deployment to its end, or to the kill. Returns nothing if it was killed.
  std::optional<deploy::DeployReport> run(std::optional<Kill> kill = std::nullopt);
  // The next call: ends what is left to be done. Nothing if nothing was, or if it was killed.
  std::optional<deploy::DeployReport> run_again(std::optional<Kill> kill = std::nullopt);

  // What the machine is like.
  Files files = Files::old;
  bool running = true;
  bool runs_new = false;   // The configuration of the process that runs.
  bool touched = false;    // Stopped, started or changed in any way.
  bool ran_mixed = false;  // It was started from files that are half old and half new.
  bool committed = false;  // What would end a roll-back at boot is gone: there is no way back.
  std::string stored;      // The last record, as text.
  Time now{1'700'000'000'000};
  std::size_t actions = 0;  // That the last run did.
  bool stuck = false;       // Nothing was left to happen, and it was not over.

 private:
  struct Pending {
    Time when{0};
    std::uint64_t order = 0;
    deploy::Event event;
  };

  std::optional<deploy::DeployReport> drive(deploy::Deployer deployer, deploy::Event first,
                                            std::optional<Kill> kill);
  // True: go on with the list.
  bool act(const deploy::Action& action);
  void kill_now(const Kill& kill, const deploy::Action& action);
  void half(const deploy::Action& action);
  bool do_action(const deploy::action::Keep& keep);
  void do_action(const deploy::action::RunSmoke& smoke);
  void do_action(const deploy::action::Diagnose& diagnose);
  void do_action(const deploy::action::Undo& undo);
  void do_action(const deploy::action::Apply& apply);
  void do_action(const deploy::action::ProbeHealth& probe);
  void start();
  void stop();
  void look();
  void look_later();
  void die(int code, bool restarts);
  void answer(Time after, deploy::Event event);
  Time jitter(int from_ms, int to_ms);
  deploy::SmokeRun right_run(double ms) const;
  Way way_now() const { return runs_new ? way_ : Way::good; }

  deploy::ServiceSpec spec_;
  deploy::Options options_;
  Way way_;
  Trouble trouble_;
  std::mt19937_64 random_;
  std::vector<Pending> pending_;
  std::uint64_t order_ = 0;
  std::string change_;  // In the journal; empty: none.
  int keeps_ = 0;
  bool finished_ = false;
  std::optional<deploy::DeployReport> report_;

  bool observing_ = false;
  std::uint64_t start_number_ = 0;
  std::uint64_t mains_ = 1;
  Time started_{0};
  Time returns_{0};  // When its manager will have started it again.
  std::vector<deploy::Death> deaths_;
  std::uint64_t oom_kills_ = 0;
  bool was_asked_ = false;              // The running process got a request.
  std::optional<std::uint64_t> smoke_;  // The one that is under way.
  bool smoked_new_ = false;
};

}  // namespace headroom::simulation
