// SPDX-License-Identifier: Apache-2.0
// The supervisor of a command, as a pure state machine: it is told what happened and when, and says
// what to do. It starts nothing, waits for nothing and asks no clock, so weeks of it pass in a test
// within a second. The driver that does as it says is run/command.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "supervisor/attempt.h"
#include "supervisor/back_off.h"
#include "supervisor/growth.h"
#include "supervisor/hang_watch.h"
#include "supervisor/policy.h"
#include "supervisor/settings.h"

namespace headroom::supervisor {

// What happened.
namespace event {
struct Begin {};  // The first event.
struct Started {};
struct NotStarted {  // exit: 126 or 127, as a shell's.
  Exit exit;
  std::string why;
};
// One look at the tree. The totals only grow within an attempt; what they were before does not
// matter.
struct Sample {
  std::uint64_t output_bytes = 0;  // Written to both streams.
  std::uint64_t processor_ms = 0;  // Of all processes, ended ones included as far as they count.
  std::uint64_t gpu_ms = 0;        // Or any other counter of work on a GPU.
  // What counts against the limit, now, without file pages that the kernel would take back first:
  // with them every command that reads enough files would seem to grow up to its limit.
  std::optional<Bytes> memory;
  bool has_enforced_limit = false;   // The kernel enforces it; else whoever adds up does.
  std::optional<Bytes> system_left;  // What the kernel could still give to anybody.
  std::optional<Bytes> held;         // Of the system's memory by the tree, on the GPU as well.
  Peak peak;
};
struct MainEnded {  // The command's own process; others of its tree may live on.
  Exit exit;
};
// No process of the attempt is left; or, after AbandonTree, none that could be ended.
struct TreeGone {
  std::vector<LeftBehind> left_behind;  // Those that outlived the command's own process.
};
// What log rules, kernel messages and control group say of the attempt, once nothing of it is left.
struct Diagnosed {
  std::optional<AttemptCause> cause;
  bool out_of_memory = false;     // Of any kind: a smaller micro-batch may help.
  bool killed_by_kernel = false;  // It counted an out-of-memory kill.
};
struct Signal {  // Somebody sent it to headroom.
  int number = 0;
  bool reached_command = false;  // The terminal sent it to the command as well.
};
struct Tick {};  // The time that was asked for has come.
}  // namespace event
using Event =
    std::variant<event::Begin, event::Started, event::NotStarted, event::Sample, event::MainEnded,
                 event::TreeGone, event::Diagnosed, event::Signal, event::Tick>;

// What to do, in this order.
namespace action {
struct Start {
  std::vector<std::string> command;
  Settings settings;
  std::size_t attempt = 1;
};
struct SendSignal {  // To the command's own process.
  int number = 0;
};
struct EndTree {  // Every process of the attempt: with SIGTERM, or at once with SIGKILL.
  bool kill = false;
};
// SIGKILL did not help either: stop waiting, and answer with TreeGone at once, in which what still
// lives is left_behind and not ended.
struct AbandonTree {};
struct Diagnose {};
struct Say {  // To the user, on stderr.
  std::string text;
  std::string next;  // The next command; may be empty.
};
struct WakeAt {  // A Tick is wanted then; a later one replaces it.
  Time when{0};
};
struct Finish {
  RunReport report;
};
}  // namespace action
using Action = std::variant<action::Start, action::SendSignal, action::EndTree, action::AbandonTree,
                            action::Diagnose, action::Say, action::WakeAt, action::Finish>;

// How long processes that outlive the command's own get to end by themselves before they are sent
// SIGTERM: workers need a moment to notice that their parent is gone.
inline constexpr Time settle_time{500};
// How long a process may take to end after SIGKILL. The kernel ends a process that waits for a
// driver only once the driver lets go, and a GPU's reset takes up to ten seconds or so.
inline constexpr Time unkillable_after{30000};
// How long the driver may take to answer: with TreeGone to AbandonTree, with MainEnded after
// TreeGone.
inline constexpr Time answer_time{5000};

// The life of an attempt:
//
//   Start → Started → … → MainEnded → TreeGone → Diagnose → Diagnosed → Start again, or Finish
//
// Whatever is to be ended goes through the same ladder, each rung with a time of its own: asked by
// a signal that was passed on, SIGTERM to all, SIGKILL to all, abandoned. A next attempt starts
// only where nothing of the last one is left.
//
// The command's exit code is the run's, unless headroom ended the last attempt (1), or a signal to
// headroom ended the run while nothing ran (128 + its number).
//
// One thread.
class Supervisor {
 public:
  Supervisor(Policy policy, CommandTemplate command, std::string name);

  // Events of an earlier attempt or in an impossible order are ignored; after Finish, all are.
  // Requires: `now` is not before that of the last call.
  std::vector<Action> step(const Event& event, Time now);

  bool is_over() const { return phase_ == Phase::over; }

 private:
  enum class Phase : std::uint8_t {
    not_begun,
    starting,    // Start was said.
    alive,       // The command's own process lives.
    clearing,    // It has ended; others of its tree may live.
    diagnosing,  // Nothing lives.
    waiting,     // For the next attempt.
    over,
  };
  // The rungs of the ladder.
  enum class Pressure : std::uint8_t { none, asked, terminated, killed, abandoned };
  enum class Reason : std::uint8_t { none, user, hang, memory, guard };

  // What is known of the attempt that runs.
  struct Current {
    explicit Current(const Policy& policy);

    Time started{0}, main_ended{0};
    std::optional<Exit> exit;
    bool is_exit_presumed = false;  // Its process was given up.
    bool tree_gone = false;
    Reason reason = Reason::none;  // Why it was ended, if it was.
    Pressure pressure = Pressure::none;
    Peak peak;
    HangWatch hang;
    std::optional<GrowthWatch> growth;
    std::optional<AttemptCause> cause;  // Where headroom ended it.
  };

  // One for each kind of event.
  void on(const event::Begin& event);
  void on(const event::Started& event);
  void on(const event::NotStarted& event);
  void on(const event::Sample& event);
  void on(const event::MainEnded& event);
  void on(const event::TreeGone& event);
  void on(const event::Diagnosed& event);
  void on(const event::Signal& event);
  void on(const event::Tick& event);
  void on_deadline();

  // stop.cpp: what signals do.
  void stop(const event::Signal& signal);
  void stop_alive(const event::Signal& signal);

  // watch.cpp: what a look at the tree shows.
  void watch_memory(const event::Sample& sample);
  void watch_guard(const event::Sample& sample);
  void watch_hang(const event::Sample& sample);
  void watch_growth(const event::Sample& sample);

  // decide.cpp: what comes after an attempt.
  Attempt conclude(const event::Diagnosed& event) const;
  void decide();
  bool retry_smaller();
  bool restart();
  void finish(Outcome outcome, Exit exit);
  void give_up();

  void start();
  void terminate();
  void kill();
  void abandon();
  void diagnose_when_gone();
  void wake_at(Time when);
  void wake_after(Time delay);
  void say(std::string text, std::string next = {});
  bool main_lives() const { return phase_ == Phase::alive; }

  Policy policy_;
  CommandTemplate command_;
  Settings settings_;
  BackOff back_off_;
  RunReport report_;
  Phase phase_ = Phase::not_begun;
  Current current_;
  std::size_t attempts_ = 0;
  std::uint64_t restarts_ = 0;      // Those that count.
  std::optional<int> stop_signal_;  // The first that asked for an end.
  bool stop_before_end_ = false;    // It came while the command's own process was alive.
  bool stuck_ = false;              // Something could not be ended.
  bool growth_told_ = false;
  Time growth_looked_at_{0};
  Time now_{0};
  std::optional<Time> deadline_;
  std::vector<Action> actions_;
};

}  // namespace headroom::supervisor
