// SPDX-License-Identifier: Apache-2.0
// What comes after an attempt: nothing more, the same again after a while, or smaller settings.
#include <fmt/format.h>

#include <algorithm>

#include "supervisor/supervisor.h"
#include "supervisor/wording.h"

namespace headroom::supervisor {
namespace {

bool succeeded(const Exit& exit) {
  return exit.code == 0 && !exit.signal;
}

// Also where a shell in between reports the signal as 128 + its number.
bool died_by_signal(const Exit& exit) {
  return exit.signal || exit.code > 128;
}

bool says_nothing(const std::optional<AttemptCause>& cause) {
  return !cause || cause->id == "none" || cause->id == "insufficient-evidence";
}

// Where a command died by a signal at every start, and nothing in its log says why.
std::optional<AttemptCause> find_crash_loop(const std::vector<Attempt>& attempts) {
  AttemptCause cause;
  cause.id = "crash-loop";
  cause.confidence = 0.6;
  cause.title = "A signal kills the command at every start.";
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    const Attempt& attempt = attempts[i];
    const bool crashed = attempt.ended_by == EndedBy::itself && !attempt.out_of_memory;
    if (!crashed || !died_by_signal(attempt.exit)) return std::nullopt;
    cause.evidence.push_back(
        {"headroom run", 0,
         fmt::format("attempt {} {} after {}", i + 1, describe_exit(attempt.exit),
                     describe_time(attempt.duration)),
         ""});
  }
  cause.fix.push_back(
      findings::sentence("Look at the stack of a core dump: coredumpctl info, or gdb."));
  return attempts.size() > 1 ? std::optional(cause) : std::nullopt;
}

}  // namespace

Attempt Supervisor::conclude(const event::Diagnosed& event) const {
  Attempt attempt;
  attempt.command = command_.fill_in(settings_, attempts_ > 1);
  attempt.settings = settings_;
  attempt.exit = *current_.exit;
  attempt.duration = current_.main_ended - current_.started;
  attempt.peak = current_.peak;
  const bool lacked_memory = current_.reason == Reason::memory || current_.reason == Reason::guard;
  const bool ended_by_headroom = current_.reason == Reason::hang || lacked_memory;
  if (ended_by_headroom) {
    attempt.ended_by = EndedBy::headroom;
    attempt.out_of_memory = lacked_memory || event.out_of_memory;
    attempt.cause = current_.cause;
    // The log may say why it waits; what was observed stays the cause.
    if (!says_nothing(event.cause)) {
      attempt.cause->evidence.push_back(
          {"the log", 0, event.cause->id + ": " + event.cause->title, ""});
    }
    return attempt;
  }
  if (succeeded(attempt.exit)) {
    if (current_.reason == Reason::user) attempt.ended_by = EndedBy::user;
    return attempt;
  }
  attempt.cause = event.cause;
  if (current_.reason == Reason::user) {
    attempt.ended_by = EndedBy::user;
    return attempt;
  }
  attempt.out_of_memory = event.out_of_memory || event.killed_by_kernel;
  if (event.killed_by_kernel) attempt.ended_by = EndedBy::kernel;
  return attempt;
}

void Supervisor::decide() {
  const Attempt& last = report_.attempts.back();
  const bool by_headroom = last.ended_by == EndedBy::headroom;
  const bool completed = succeeded(last.exit) && !by_headroom;
  if (completed && !stop_before_end_) return finish(Outcome::completed, last.exit);
  if (stop_signal_) {
    return finish(Outcome::stopped, by_headroom ? Exit{1, std::nullopt} : last.exit);
  }
  // What could not be ended still holds its memory and its GPU: a second one beside it would fail
  // because of the first.
  if (stuck_) return give_up();
  if (last.out_of_memory && command_.takes_micro() && last.settings.micro) {
    return retry_smaller() ? void() : give_up();
  }
  if (!restart()) give_up();
}

bool Supervisor::retry_smaller() {
  const auto less = command_.smaller(settings_);
  if (!less) return false;
  settings_ = *less;
  const char* kept =
      command_.keeps_step()
          ? ", so that each optimizer step sees the same samples"
          : "; headroom knows no accumulation setting of this command that would make up for it";
  const bool batch = command_.unit() == "samples";
  say(fmt::format("out of memory: restarting with {}{}", describe_settings(settings_),
                  batch ? kept : " (" + command_.unit() + ")"));
  start();
  return true;
}

bool Supervisor::restart() {
  if (restarts_ >= policy_.restarts) return false;
  ++restarts_;
  const Attempt& last = report_.attempts.back();
  const Time wait = back_off_.next(last.duration);
  say(fmt::format("attempt {} {} after {}: restarting in {} (restart {} of {})", attempts_,
                  describe_exit(last.exit), describe_time(last.duration), describe_time(wait),
                  restarts_, policy_.restarts));
  phase_ = Phase::waiting;
  wake_after(wait);
  return true;
}

void Supervisor::give_up() {
  Attempt& last = report_.attempts.back();
  if (says_nothing(last.cause)) {
    if (auto loop = find_crash_loop(report_.attempts)) last.cause = std::move(loop);
  }
  const Exit exit = last.ended_by == EndedBy::headroom ? Exit{1, std::nullopt} : last.exit;
  finish(attempts_ > 1 ? Outcome::gave_up : Outcome::failed, exit);
}

void Supervisor::finish(Outcome outcome, Exit exit) {
  phase_ = Phase::over;
  deadline_.reset();
  report_.outcome = outcome;
  report_.exit = exit;
  if (!report_.attempts.empty() && report_.attempts.back().out_of_memory) {
    report_.next_change = command_.smaller(report_.attempts.back().settings);
  }
  actions_.emplace_back(action::Finish{report_});
}

}  // namespace headroom::supervisor
