// SPDX-License-Identifier: Apache-2.0
// The supervisor of a command, as a pure state machine: it is told what happened and when, and says
// what to do. It starts nothing, waits for nothing and asks no clock, so weeks of it pass in a test
// within a second. The driver that does as it says is run/command.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "supervisor/attempt.h"
#include "supervisor/growth.h"
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
  std::uint64_t output_bytes = 0;   // Written to both streams.
  std::uint64_t processor_ms = 0;   // Of all processes, ended ones included as far as they count.
  std::uint64_t gpu_ms = 0;         // Or any other counter of work on a GPU.
  std::optional<Bytes> memory;      // What counts against the limit, now.
  bool has_enforced_limit = false;  // The kernel enforces it; else whoever adds up does.
  Peak peak;
};
struct MainEnded {  // The command's own process; others of its tree may live on.
  Exit exit;
};
struct TreeGone {  // No process of the attempt is left that could be ended.
  std::vector<LeftBehind> left_behind;
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
using Event = std::variant<event::Begin, event::Started, event::NotStarted, event::Sample,
                           event::MainEnded, event::TreeGone, event::Diagnosed, event::Signal,
                           event::Tick>;

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
using Action = std::variant<action::Start, action::SendSignal, action::EndTree, action::Diagnose,
                            action::Say, action::WakeAt, action::Finish>;

// One thread.
class Supervisor {
 public:
  Supervisor(Policy policy, CommandTemplate command, std::string name);

  // Events of an earlier attempt or in an impossible order are ignored; after Finish, all are.
  // Requires: `now` is not before that of the last call.
  std::vector<Action> step(const Event& event, Time now);

  bool is_over() const;
};

}  // namespace headroom::supervisor
