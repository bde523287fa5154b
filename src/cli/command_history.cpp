// SPDX-License-Identifier: Apache-2.0
#include "cli/command_history.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/version.h"
#include "cli/past_runs.h"
#include "history/commands.h"
#include "machine/clock.h"
#include "supervisor/wording.h"

namespace headroom::cli {
namespace {

using supervisor::Attempt;
using supervisor::PastCommand;

// It was not there, or could not be executed.
bool never_ran(const Attempt& attempt) {
  const bool as_a_shell = attempt.exit.code == 126 || attempt.exit.code == 127;
  return as_a_shell && attempt.duration.count() == 0 && !attempt.cause;
}

PastCommand to_past(const Attempt& attempt, const supervisor::CommandKey& key,
                    std::uint64_t number) {
  PastCommand past;
  past.time = machine::utc_now();
  past.headroom = program_version();
  past.name = key.name;
  past.command = key.command;
  past.memory = key.memory;
  past.devices = key.devices;
  past.attempt = number;
  past.settings = attempt.settings;
  past.exit = attempt.exit;
  past.out_of_memory = attempt.out_of_memory;
  if (attempt.cause) past.cause = attempt.cause->id;
  past.duration_ms = static_cast<std::uint64_t>(attempt.duration.count());
  past.peak = attempt.peak;
  return past;
}

}  // namespace

std::optional<supervisor::LearnedSettings> look_up_command(const supervisor::CommandKey& key,
                                                           const Context& context) {
  const std::string path = history_path(context);
  if (path.empty()) return std::nullopt;
  const auto found = history::read_commands(path);
  if (found) return supervisor::find_learned(found->attempts, key);
  context.printer.note("past runs are not used: " + found.error().message);
  return std::nullopt;
}

std::optional<supervisor::Settings> begin_from(
    const std::optional<supervisor::LearnedSettings>& learned,
    const supervisor::Settings& of_command, const supervisor::Settings& given, bool quiet,
    const Context& context) {
  if (!learned || !of_command.micro || *of_command.micro <= *learned->settings.micro)
    return std::nullopt;
  const std::string settings = supervisor::describe_settings(learned->settings);
  const std::string seen = fmt::format(
      "on {} it ran out of memory with micro {} and completed with {}",
      learned->time.substr(0, learned->time.find('T')), learned->out_of_memory_micro, settings);
  const bool was_given = given.micro || given.accumulate;
  if (!quiet)
    context.printer.note(was_given
                             ? seen + "; to start there, use --settings with these values"
                             : seen + ": starting with the latter (--settings overrides them)");
  if (was_given) return std::nullopt;
  supervisor::Settings start = learned->settings;
  start.resume = given.resume;
  return start;
}

void remember_command(const supervisor::RunReport& report, const supervisor::CommandKey& key,
                      const Context& context) {
  const std::string path = history_path(context);
  std::vector<PastCommand> attempts;
  for (const Attempt& attempt : report.attempts) {
    if (!never_ran(attempt)) attempts.push_back(to_past(attempt, key, attempts.size() + 1));
  }
  if (path.empty() || attempts.empty()) return;
  const auto added = history::add_commands(path, attempts);
  if (!added) {
    context.printer.note("the run is not in the history: " + added.error().message);
  } else if (*added) {
    context.printer.note(fmt::format("the history was damaged, and has been moved to {}", **added));
  }
}

}  // namespace headroom::cli
