// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "simulation/supervised_world.h"
#include "supervisor/wording.h"

namespace headroom::testing {

using namespace std::chrono_literals;
using namespace supervisor;

namespace {

constexpr int samples_of_an_attempt = 60;

}  // namespace

void SupervisedWorld::crime(std::string what) {
  crimes_.push_back(fmt::format("at {} ms, attempt {}: {}", now_.count(), attempt_, what));
}

void SupervisedWorld::check_start(const action::Start& start) {
  if (report_) crime("Start after Finish");
  if (any_alive()) crime("Start while a process of the last attempt lives");
  if (start.attempt != attempt_ + 1) crime("the attempts are not counted one by one");
  if (first_stop_) crime("Start after somebody asked for an end");
  if ((start.command.back() == "--resume") != (attempt_ > 0) && start.command.size() > 1) {
    crime("resumes at the wrong attempt");
  }
  if (attempt_ == 0) return;
  if (start.settings.micro && *start.settings.micro != micro_) {
    if (!last_out_of_memory_) crime("smaller settings, and memory was not the reason");
    if (*start.settings.micro * 2 > micro_) crime("micro is more than half");
    if (*start.settings.micro * *start.settings.accumulate != micro_ * accumulate_) {
      crime("micro × accumulate changed");
    }
    return;
  }
  if (++restarts_ > policy_.restarts) crime("more restarts than are allowed");
  const Time longest = std::max(policy_.back_off, policy_.longest_back_off);
  if (last_ran_ >= longest * 10) expected_wait_ = policy_.back_off;
  if (now_ - *diagnosed_ < expected_wait_) {
    crime(fmt::format("waited {} ms instead of {}", (now_ - *diagnosed_).count(),
                      expected_wait_.count()));
  }
  expected_wait_ = std::min(longest, expected_wait_ * 2);
}

void SupervisedWorld::act(const action::Start& start) {
  check_start(start);
  attempt_ = start.attempt;
  if (start.settings.micro) {
    micro_ = *start.settings.micro;
    accumulate_ = *start.settings.accumulate;
  }
  behaviour_ = make_behaviour();
  real_exit_.reset();
  terminated_.reset();
  members_.clear();
  gone_told_ = abandoned_ = out_of_memory_ = by_kernel_ = over_limit_ = diagnosing_ = false;
  started_ = main_ended_ = now_;
  enforced_ = once_in(2);
  if (!behaviour_.starts) {
    real_exit_ = Exit{127, std::nullopt};
    after(Time{1}, [this] { tell(event::NotStarted{{127, std::nullopt}, "no such program"}); });
    return;
  }
  make_members();
  // As often as a driver would, of a long life in some hundred places.
  const Time life = behaviour_.ends_after.value_or(policy_.hang ? *policy_.hang * 2 : Time{168h});
  sampled_every_ = std::max(Time{200}, life / samples_of_an_attempt);
  const std::size_t attempt = attempt_;
  const std::uint64_t main = members_.front().pid;
  // The driver may be told of an early end before it gets to tell of the start.
  after(up_to(once_in(20) ? Time{500} : Time{10}), [this, attempt] {
    if (attempt == attempt_) tell(event::Started{});
  });
  after(up_to(sampled_every_), [this, attempt] { sample(attempt); });
  if (behaviour_.fits > 0 && start.settings.micro && *start.settings.micro > behaviour_.fits) {
    after(up_to(1min), [this, main] {
      out_of_memory_ = true;
      end_member(main, {1, std::nullopt});
    });
  } else if (behaviour_.ends_after) {
    after(*behaviour_.ends_after, [this, main] { end_member(main, behaviour_.exit); });
  }
}

void SupervisedWorld::act(const action::SendSignal& send) {
  if (!members_.empty()) signal_member(members_.front().pid, send.number);
}

// Who kills must have asked before and waited, unless somebody insists or memory runs out.
void SupervisedWorld::check_kill() {
  if (insisted_ > 0 || over_limit_) return;
  if (terminated_ && now_ - *terminated_ >= policy_.grace) return;
  const bool asked = first_stop_ && (!real_exit_ || main_ended_ + 200ms >= now_);
  if (!terminated_ && asked && now_ - *first_stop_ >= policy_.grace) return;
  crime("SIGKILL before its time");
}

void SupervisedWorld::act(const action::EndTree& end) {
  if (end.kill) {
    check_kill();
  } else {
    terminated_ = now_;
  }
  std::vector<std::uint64_t> pids;
  for (const SimulatedMember& member : members_) pids.push_back(member.pid);
  for (const std::uint64_t pid : pids) {
    signal_member(pid, end.kill ? signals::kill : signals::terminate);
  }
}

void SupervisedWorld::act(const action::AbandonTree& /*abandon*/) {
  abandoned_ = true;
  if (gone_told_) return;
  gone_told_ = true;
  after(Time{1}, [this] { tell(event::TreeGone{left_behind()}); });
}

void SupervisedWorld::act(const action::Diagnose& /*diagnose*/) {
  diagnosing_ = true;
  if (any_alive() && !abandoned_) crime("Diagnose while a process lives");
  event::Diagnosed found;
  found.out_of_memory = out_of_memory_;
  found.killed_by_kernel = by_kernel_;
  if (once_in(2)) found.cause = AttemptCause{"app-bug", 0.9, "A bug.", {}, {}};
  const std::size_t attempt = attempt_;
  const Time takes = up_to(once_in(10) ? Time{1h} : Time{2s});
  slow_diagnosis_ = std::max(slow_diagnosis_, takes);
  after(takes, [this, attempt, found] {
    if (attempt != attempt_) return;
    diagnosed_ = now_;
    last_ran_ = main_ended_ - started_;
    last_out_of_memory_ = found.out_of_memory || over_limit_;
    tell(found);
  });
}

void SupervisedWorld::act(const action::Say& say) {
  if (say.text.find("memory has grown") == std::string::npos) return;
  if (++warnings_ > 1) crime("warns of growth again");
}

void SupervisedWorld::act(const action::WakeAt& wake) {
  const std::uint64_t tick = ++ticks_;
  if (wake.when < now_) crime("wants to be woken in the past");
  at(std::max(now_, wake.when), [this, tick] {
    if (tick == ticks_) tell(event::Tick{});
  });
}

void SupervisedWorld::check_exit(const RunReport& report) {
  if (report.attempts.empty()) return;
  const Attempt& last = report.attempts.back();
  const bool by_headroom = last.ended_by == EndedBy::headroom;
  const bool nothing_ran = report.outcome == Outcome::stopped && diagnosed_ &&
                           report.exit.code > 128 && first_stop_ == now_;
  if (real_exit_ && last.exit != *real_exit_) crime("the exit code of the attempt is lost");
  if (by_headroom && report.exit.code != 1) crime("headroom ended it, and does not end with 1");
  if (!by_headroom && !nothing_ran && report.exit != last.exit) crime("the exit code is lost");
  const bool completed = report.outcome == Outcome::completed;
  if (completed && (report.exit.code != 0 || by_headroom)) crime("it did not complete");
  if (report.attempts.size() != attempt_) crime("an attempt is missing in the report");
}

void SupervisedWorld::act(const action::Finish& finish) {
  report_ = finish.report;
  check_exit(*report_);
  for (const SimulatedMember& member : members_) {
    if (!member.alive) continue;
    const auto& left = report_->left_behind;
    const bool told = std::any_of(left.begin(), left.end(), [&](const LeftBehind& one) {
      return one.pid == member.pid && !one.ended;
    });
    if (!told) crime(fmt::format("process {} is lost", member.pid));
  }
  const Time most = policy_.grace * 3 + unkillable_after + answer_time * 2 + 2min + slow_diagnosis_;
  if (first_stop_ && now_ - *first_stop_ > most) crime("it took too long to stop");
}

}  // namespace headroom::testing
