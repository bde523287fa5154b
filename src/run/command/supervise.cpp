// SPDX-License-Identifier: Apache-2.0
#include "run/command/supervise.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>
#include <variant>

#include "findings/diagnosis.h"
#include "machine/clock.h"
#include "machine/tree/kernel_messages.h"
#include "machine/tree/signals.h"
#include "machine/tree/wait.h"
#include "run/command/attempt_diagnosis.h"
#include "run/command/running_attempt.h"
#include "supervisor/supervisor.h"

namespace headroom::run {
namespace {

using supervisor::Exit;
using supervisor::Time;
namespace action = supervisor::action;
namespace event = supervisor::event;

// The numbers of signal(7) on x86, ARM and POWER.
constexpr int child_signal = 17;
constexpr int continue_signal = 18;
constexpr int window_signal = 28;

Time now() {
  return std::chrono::duration_cast<Time>(std::chrono::nanoseconds(machine::monotonic_ns()));
}

std::string describe_limit(machine::LimitKind kind, const std::string& remark) {
  switch (kind) {
    case machine::LimitKind::none:
      return "";
    case machine::LimitKind::cgroup_v2:
      return "a control group (version 2)";
    case machine::LimitKind::cgroup_v1:
      return "a control group (version 1)";
    case machine::LimitKind::systemd_scope:
      return "a scope of systemd";
    case machine::LimitKind::added_up:
      break;
  }
  return "adding up its processes' memory, and ending them above the limit" +
         (remark.empty() ? "" : " (" + remark + ")");
}

// As a shell says it: 127 for what is not there, 126 for what cannot be executed.
Exit exit_of(const Error& error) {
  return {error.code == Errc::not_found ? 127 : 126, std::nullopt};
}

class Driver {
 public:
  Driver(SupervisedCommand command, const SupervisedMachine& machine, machine::Signals signals,
         Talk& talk)
      : command_(std::move(command)),
        machine_(machine),
        signals_(std::move(signals)),
        talk_(talk),
        supervisor_(command_.policy, command_.command, command_.name) {
    if (!machine.files.is_real()) return;  // Our kernel speaks of another machine.
    auto kernel = machine::KernelMessages::open();
    if (kernel) kernel_.emplace(*std::move(kernel));
  }

  SupervisedRun run() {
    events_.emplace_back(event::Begin{});
    for (;;) {
      while (!events_.empty() && !finished_) {
        const supervisor::Event next = std::move(events_.front());
        events_.pop_front();
        for (const supervisor::Action& one : supervisor_.step(next, now()))
          std::visit([this](const auto& act) { perform(act); }, one);
      }
      if (finished_) return finish();
      wait();
    }
  }

 private:
  AttemptHost host() { return {command_, machine_, signals_, kernel_ ? &*kernel_ : nullptr}; }

  void perform(const action::Start& start) {
    keep_what_is_left();
    host_.reset();
    host_ = std::make_unique<AttemptHost>(host());
    auto attempt = RunningAttempt::start(start.command, *host_, now());
    if (!attempt) {
      events_.emplace_back(event::NotStarted{exit_of(attempt.error()), attempt.error().message});
      return;
    }
    attempt_ = *std::move(attempt);
    events_.emplace_back(event::Started{});
    if (command_.policy.memory)
      limited_by_ = describe_limit(attempt_->limit_kind(), attempt_->limit_remark());
    no_group_ = attempt_->limit_remark();
    if (!std::exchange(has_started_, true)) talk_.started(limited_by_);
  }
  void perform(const action::SendSignal& signal) {
    if (attempt_) attempt_->send(signal.number);
  }
  void perform(const action::EndTree& end) {
    if (attempt_) attempt_->end_tree(end.kill, now());
  }
  void perform(const action::AbandonTree& /*abandon*/) {
    if (attempt_) attempt_->abandon_tree(now());
  }
  void perform(const action::Diagnose& /*diagnose*/) {
    is_diagnosing_ = true;
    if (attempt_) attempt_->wind_up(now());
  }
  void perform(const action::Say& say) { talk_.say(say.text, say.next, is_in_line()); }
  void perform(const action::WakeAt& wake) { tick_at_ = wake.when; }
  void perform(const action::Finish& finish) { finished_ = finish.report; }

  bool is_in_line() const { return attempt_ && attempt_->is_in_line(); }
  void warn(std::string text);
  event::Diagnosed diagnose();
  void keep_what_is_left();
  void wait();
  void take_signals();
  SupervisedRun finish();

  SupervisedCommand command_;
  const SupervisedMachine& machine_;
  machine::Signals signals_;
  Talk& talk_;
  supervisor::Supervisor supervisor_;
  std::optional<machine::KernelMessages> kernel_;
  std::deque<supervisor::Event> events_;
  std::unique_ptr<AttemptHost> host_;
  std::unique_ptr<RunningAttempt> attempt_;
  std::optional<Exit> exit_;  // Of the last attempt's own process.
  std::optional<Time> tick_at_;
  std::optional<supervisor::RunReport> finished_;
  std::vector<std::string> warnings_;
  std::string limited_by_;
  std::string no_group_;
  std::vector<supervisor::LeftBehind> driver_remains_;
  bool is_diagnosing_ = false;
  bool has_started_ = false;
  bool has_group_peak_ = false;
};

// Nobody reads the report of a run that went well: what was lost has to be said.
void Driver::warn(std::string text) {
  talk_.say(text, "", is_in_line());
  warnings_.push_back(std::move(text));
}

// A machine that cannot be looked at leaves the answer to the log.
event::Diagnosed Driver::diagnose() {
  const bool succeeded = exit_ && exit_->code == 0;
  if (!attempt_ || !exit_ || succeeded) return {};
  const logs::Observations log = attempt_->log().observations();
  const EndedAttempt ended{.log = log,
                           .log_names = attempt_->log().names(),
                           .exit = *exit_,
                           .kernel_kills = attempt_->kernel_kills(),
                           .limit = command_.policy.memory,
                           .over_limit = attempt_->over_limit()};
  const auto facts = machine_.look_again();
  if (!facts) {
    warn("the machine could not be looked at: " + facts.error().message);
    return diagnose_attempt(ended, nullptr, machine_.tables);
  }
  const auto diagnosis = findings::diagnose({*facts, machine_.tables});
  const MachineAfter after{*facts, diagnosis};
  return diagnose_attempt(ended, &after, machine_.tables);
}

// Before an attempt goes, what it knows that the report needs.
void Driver::keep_what_is_left() {
  if (!attempt_) return;
  for (std::string& warning : attempt_->warnings()) warn(std::move(warning));
  for (supervisor::LeftBehind& one : attempt_->driver_remains())
    driver_remains_.push_back(std::move(one));
  has_group_peak_ = has_group_peak_ || attempt_->has_group_peak();
  attempt_.reset();
}

void Driver::wait() {
  std::vector<int> descriptors{signals_.descriptor()};
  std::optional<Time> until = tick_at_;
  if (attempt_) {
    const auto more = attempt_->descriptors();
    descriptors.insert(descriptors.end(), more.begin(), more.end());
    const auto wake = attempt_->wake_at();
    if (wake) until = until ? std::min(*until, *wake) : *wake;
  }
  std::optional<std::uint64_t> timeout_ms;
  if (until) timeout_ms = static_cast<std::uint64_t>(std::max(*until - now(), Time{0}).count());
  machine::wait_readable(descriptors, timeout_ms);
  take_signals();
  if (attempt_) {
    for (supervisor::Event& one : attempt_->look(now())) {
      if (const auto* ended = std::get_if<event::MainEnded>(&one)) exit_ = ended->exit;
      events_.push_back(std::move(one));
    }
  }
  if (is_diagnosing_ && (!attempt_ || attempt_->is_over())) {
    is_diagnosing_ = false;
    events_.emplace_back(diagnose());
  }
  if (tick_at_ && now() >= *tick_at_) {
    tick_at_.reset();
    events_.emplace_back(event::Tick{});
  }
}

void Driver::take_signals() {
  while (const auto arrived = signals_.next()) {
    const int number = arrived->number;
    if (number == child_signal || number == continue_signal) continue;  // The look sees to it.
    if (number == window_signal) {
      if (attempt_) attempt_->copy_window_size();
      continue;
    }
    events_.emplace_back(event::Signal{number, arrived->from_terminal});
  }
}

SupervisedRun Driver::finish() {
  SupervisedRun run;
  run.is_in_line = is_in_line();
  if (attempt_) run.no_gpu_memory = attempt_->gpu().no_memory();
  const std::size_t said = warnings_.size();
  keep_what_is_left();
  if (warnings_.size() > said) run.is_in_line = false;  // They have begun a line of their own.
  run.report = *std::move(finished_);
  run.report.limited_by = limited_by_;
  run.report.warnings.insert(run.report.warnings.end(), warnings_.begin(), warnings_.end());
  run.report.left_behind.insert(run.report.left_behind.end(), driver_remains_.begin(),
                                driver_remains_.end());
  if (!has_group_peak_)
    run.no_group_peak = no_group_.empty() ? "it has no control group of its own" : no_group_;
  return run;
}

}  // namespace

Result<SupervisedRun> supervise(SupervisedCommand command, const SupervisedMachine& machine,
                                Talk& talk) {
  HEADROOM_TRY(machine::Signals signals, machine::Signals::take());
  return Driver(std::move(command), machine, std::move(signals), talk).run();
}

}  // namespace headroom::run
