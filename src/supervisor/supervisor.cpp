// SPDX-License-Identifier: Apache-2.0
#include "supervisor/supervisor.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/require.h"
#include "supervisor/wording.h"

namespace headroom::supervisor {
namespace {

template <class T>
void raise_to(std::optional<T>& highest, const std::optional<T>& seen) {
  if (seen && (!highest || *highest < *seen)) highest = seen;
}

void raise_to(Peak& highest, const Peak& seen) {
  raise_to(highest.rss, seen.rss);
  raise_to(highest.cgroup, seen.cgroup);
  raise_to(highest.vram, seen.vram);
  raise_to(highest.gtt, seen.gtt);
}

}  // namespace

Supervisor::Current::Current(const Policy& policy) : hang(policy.hang) {
  if (policy.memory) growth.emplace(*policy.memory);
}

Supervisor::Supervisor(Policy policy, CommandTemplate command, std::string name)
    : policy_(policy),
      command_(std::move(command)),
      settings_(command_.initial()),
      back_off_(policy),
      current_(policy) {
  report_.name = std::move(name);
}

std::vector<Action> Supervisor::step(const Event& event, Time now) {
  require(now >= now_, "time never goes back");
  now_ = now;
  actions_.clear();
  if (is_over()) return {};
  std::visit([this](const auto& what) { on(what); }, event);
  // Whatever wakes the supervisor after its time has come serves as the tick; so does a step that
  // asked for no delay at all.
  while (!is_over() && deadline_ && now_ >= *deadline_) {
    deadline_.reset();
    on_deadline();
  }
  return std::exchange(actions_, {});
}

// --- the life of an attempt

void Supervisor::on(const event::Begin& /*event*/) {
  if (phase_ != Phase::not_begun) return;
  if (stop_signal_) return finish(Outcome::stopped, {128 + *stop_signal_, stop_signal_});
  start();
}

void Supervisor::start() {
  phase_ = Phase::starting;
  current_ = Current(policy_);
  current_.started = now_;
  stop_before_end_ = false;
  deadline_.reset();
  ++attempts_;
  actions_.emplace_back(
      action::Start{command_.fill_in(settings_, attempts_ > 1), settings_, attempts_});
}

void Supervisor::on(const event::Started& /*event*/) {
  if (phase_ != Phase::starting) return;
  phase_ = Phase::alive;
  current_.started = now_;
  current_.hang.begin(now_);
  // The command did not live yet when the signal came, so that it did not get it either.
  if (stop_signal_) stop_alive({*stop_signal_, /*reached_command=*/false});
}

void Supervisor::on(const event::NotStarted& event) {
  if (phase_ != Phase::starting) return;
  Attempt attempt;
  attempt.command = command_.fill_in(settings_, attempts_ > 1);
  attempt.settings = settings_;
  attempt.exit = event.exit;
  report_.attempts.push_back(attempt);
  if (!event.why.empty()) say(event.why);
  if (stop_signal_) return finish(Outcome::stopped, event.exit);
  finish(attempts_ > 1 ? Outcome::gave_up : Outcome::failed, event.exit);
}

void Supervisor::on(const event::Sample& event) {
  if (phase_ == Phase::starting) on(event::Started{});
  if (phase_ != Phase::alive && phase_ != Phase::clearing) return;
  raise_to(current_.peak, event.peak);
  if (!main_lives()) return;
  watch_memory(event);
  watch_guard(event);
  watch_hang(event);
  watch_growth(event);
}

void Supervisor::on(const event::MainEnded& event) {
  if (phase_ == Phase::starting) on(event::Started{});
  if (phase_ == Phase::diagnosing && current_.is_exit_presumed) {
    // Given up, and now it did end.
    current_.exit = event.exit;
    current_.is_exit_presumed = false;
  }
  if (phase_ != Phase::alive) return;
  phase_ = Phase::clearing;
  current_.exit = event.exit;
  current_.main_ended = now_;
  stop_before_end_ = stop_signal_.has_value();
  if (current_.pressure == Pressure::none || current_.pressure == Pressure::asked) {
    // What was asked of the command's own process is done. The others get a moment, and then a
    // time of grace of their own.
    current_.pressure = Pressure::none;
    wake_after(settle_time);
  }
  diagnose_when_gone();
}

void Supervisor::on(const event::TreeGone& event) {
  if (phase_ == Phase::starting) on(event::Started{});
  if (phase_ != Phase::alive && phase_ != Phase::clearing) return;
  if (current_.tree_gone) return;
  current_.tree_gone = true;
  for (const LeftBehind& left : event.left_behind) {
    report_.left_behind.push_back(left);
    stuck_ = stuck_ || !left.ended;
  }
  if (main_lives()) wake_after(answer_time);
  diagnose_when_gone();
}

void Supervisor::diagnose_when_gone() {
  if (!current_.exit || !current_.tree_gone) return;
  phase_ = Phase::diagnosing;
  deadline_.reset();
  actions_.emplace_back(action::Diagnose{});
}

void Supervisor::on(const event::Diagnosed& event) {
  if (phase_ != Phase::diagnosing) return;
  report_.attempts.push_back(conclude(event));
  decide();
}

// --- time

void Supervisor::on(const event::Tick& /*event*/) {
  if (deadline_ && now_ < *deadline_) actions_.emplace_back(action::WakeAt{*deadline_});  // Early.
}

void Supervisor::wake_at(Time when) {
  deadline_ = when;
  actions_.emplace_back(action::WakeAt{when});
}

void Supervisor::wake_after(Time delay) {
  wake_at(delay > Time::max() - now_ ? Time::max() : now_ + delay);
}

void Supervisor::on_deadline() {
  if (phase_ == Phase::waiting) return start();
  if (phase_ != Phase::alive && phase_ != Phase::clearing) return;
  if (current_.tree_gone || current_.pressure == Pressure::abandoned) {
    // The driver owes an answer that did not come; nothing is gained by waiting any longer.
    if (!current_.exit) {
      current_.exit = Exit{128 + signals::kill, signals::kill};
      current_.is_exit_presumed = true;
      current_.main_ended = now_;
    }
    stuck_ = stuck_ || !current_.tree_gone;
    current_.tree_gone = true;
    return diagnose_when_gone();
  }
  switch (current_.pressure) {
    case Pressure::none:
      return terminate();
    case Pressure::asked:
    case Pressure::terminated:
      return kill();
    case Pressure::killed:
    case Pressure::abandoned:
      return abandon();
  }
}

// --- the ladder

void Supervisor::terminate() {
  if (current_.pressure >= Pressure::terminated) return;
  current_.pressure = Pressure::terminated;
  actions_.emplace_back(action::EndTree{.kill = false});
  wake_after(policy_.grace);
}

void Supervisor::kill() {
  if (current_.pressure >= Pressure::killed) return;
  current_.pressure = Pressure::killed;
  actions_.emplace_back(action::EndTree{.kill = true});
  wake_after(unkillable_after);
}

void Supervisor::abandon() {
  current_.pressure = Pressure::abandoned;
  stuck_ = true;
  say("SIGKILL did not end every process of the command within " + describe_time(unkillable_after) +
          ": the kernel still holds them, usually in a driver",
      "headroom check");
  actions_.emplace_back(action::AbandonTree{});
  wake_after(answer_time);
}

void Supervisor::say(std::string text, std::string next) {
  report_.warnings.push_back(text);
  actions_.emplace_back(action::Say{std::move(text), std::move(next)});
}

}  // namespace headroom::supervisor
