// SPDX-License-Identifier: Apache-2.0
// What is known of one attempt to run a command, and of the run that its attempts make up. These
// values are the report of `headroom run` (docs/schema/run.schema.json).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "findings/finding.h"
#include "supervisor/policy.h"
#include "supervisor/settings.h"

namespace headroom::supervisor {

// How a process ended. A shell's rule gives the exit code where a signal ended it: 128 + signal.
struct Exit {
  int code = 0;
  std::optional<int> signal;

  bool operator==(const Exit&) const = default;
};

enum class EndedBy : std::uint8_t { itself, headroom, kernel, user };

struct AttemptCause {
  std::string id;  // docs/causes.md.
  double confidence = 0;
  std::string title;
  std::vector<findings::Evidence> evidence;
  std::vector<findings::Step> fix;
};

// Each the highest value seen; nothing where it could not be measured.
struct Peak {
  std::optional<Bytes> rss;     // Of all processes added up, at one moment.
  std::optional<Bytes> cgroup;  // What the kernel counted for the control group.
  std::optional<Bytes> vram;
  std::optional<Bytes> gtt;
};

struct Attempt {
  std::vector<std::string> command;
  Settings settings;
  Exit exit;
  Time duration{0};
  EndedBy ended_by = EndedBy::itself;
  bool out_of_memory = false;
  std::optional<AttemptCause> cause;  // Nothing of an attempt that succeeded.
  Peak peak;
};

// A process that outlived the command.
struct LeftBehind {
  std::uint64_t pid = 0;
  std::string command;
  bool ended = false;  // By headroom. False: it could not be ended.
};

enum class Outcome : std::uint8_t {
  completed,  // The command ended with 0.
  failed,     // It did not, and no restart was allowed.
  gave_up,    // It failed as often as was allowed.
  stopped,    // A signal to headroom ended it.
};

struct RunReport {
  Outcome outcome = Outcome::failed;
  Exit exit;  // What headroom ends with.
  std::vector<Attempt> attempts;
  std::optional<Settings> next_change;  // What the next attempt would have had.
  std::vector<LeftBehind> left_behind;
  std::string name;
  std::string limited_by;             // How the memory limit is enforced; empty without one.
  std::vector<std::string> warnings;  // What was said on the way.
};

std::string_view to_string(EndedBy ended_by);
std::string_view to_string(Outcome outcome);

}  // namespace headroom::supervisor
