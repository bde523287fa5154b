// SPDX-License-Identifier: Apache-2.0
#include "simulation/supervised_world.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "supervisor/wording.h"

namespace headroom::testing {
namespace {

using namespace std::chrono_literals;
using namespace supervisor;

constexpr Time week = std::chrono::hours(7 * 24);

bool asks_for_end(int number) {
  return number == signals::interrupt || number == signals::terminate ||
         number == signals::hangup || number == signals::quit;
}

CommandTemplate make_command(bool placeholders, std::uint64_t micro, std::uint64_t accumulate) {
  const knowledge::TrainerFlags none;
  Settings given;
  given.micro = micro;
  given.accumulate = accumulate;
  given.resume = {"--resume"};
  if (!placeholders) return *CommandTemplate::make({"program"}, {}, none);
  return *CommandTemplate::make({"program", "{micro}", "{accumulate}", "{resume}"}, given, none);
}

}  // namespace

SupervisedWorld::SupervisedWorld(std::uint64_t seed) : random_(seed) {
  policy_.restarts = below(6);
  policy_.back_off = once_in(8) ? Time{0} : up_to(5s);
  policy_.longest_back_off = up_to(5min);
  policy_.grace = once_in(8) ? Time{0} : up_to(30s);
  if (once_in(2)) policy_.hang = Time{1000} + up_to(1h);
  if (once_in(2)) policy_.memory = Bytes{(1 + below(64)) << 30U};
  expected_wait_ = policy_.back_off;
  micro_ = 1 + below(64);
  accumulate_ = 1 + below(8);
  supervisor_.emplace(policy_, make_command(!once_in(3), micro_, accumulate_), "program");
  plan_user();
}

void SupervisedWorld::run() {
  at(Time{0}, [this] { tell(event::Begin{}); });
  while (!report_ && !happenings_.empty() && crimes_.size() < 5) {
    const Happening happening = happenings_.top();
    happenings_.pop();
    now_ = happening.when;
    if (now_ > 4 * week) return crime("a week after somebody asked for an end it still runs");
    happening.what();
  }
  if (!report_ && crimes_.empty()) crime("nothing is left to happen, and it did not finish");
  const std::array<Event, 4> late = {event::Tick{}, event::Begin{}, event::MainEnded{{0, {}}},
                                     event::Signal{signals::interrupt, false}};
  for (const Event& event : late) {
    if (report_ && !supervisor_->step(event, now_ + 1h).empty()) crime("it acts after Finish");
    if (report_) now_ += 1h;
  }
}

// --- chance

std::uint64_t SupervisedWorld::below(std::uint64_t limit) {
  return limit == 0 ? 0 : std::uniform_int_distribution<std::uint64_t>(0, limit - 1)(random_);
}

Time SupervisedWorld::up_to(Time most) {
  return Time{static_cast<Time::rep>(below(static_cast<std::uint64_t>(most.count()) + 1))};
}

Time SupervisedWorld::some_lifetime() {
  static constexpr std::array<Time, 6> scales = {Time{10}, Time{2000}, 1min, 1h, 24h, 2 * week};
  return up_to(scales[below(scales.size())]);
}

Behaviour SupervisedWorld::make_behaviour() {
  Behaviour behaviour;
  behaviour.starts = !once_in(60);
  behaviour.ignores_signals = once_in(4);
  behaviour.reacts_after = once_in(3) ? up_to(1min) : up_to(500ms);
  if (once_in(3)) behaviour.exits_with = static_cast<int>(below(3));
  switch (below(6)) {
    case 0:  // It does its work.
      behaviour.ends_after = some_lifetime();
      break;
    case 1:
      behaviour.ends_after = some_lifetime();
      behaviour.exit = {1 + static_cast<int>(below(255)), std::nullopt};
      break;
    case 2:
      behaviour.ends_after = some_lifetime();
      behaviour.exit = {128 + 11, 11};
      break;
    case 3:
      behaviour.quiet = true;
      break;
    case 4:
      behaviour.bytes_per_s = static_cast<double>(1 + below(1 << 22));
      if (once_in(2)) behaviour.ends_after = some_lifetime();
      break;
    default:
      behaviour.fits = 1 + below(32);
      behaviour.ends_after = some_lifetime();
  }
  return behaviour;
}

void SupervisedWorld::make_members() {
  members_.clear();
  members_.push_back({.pid = next_pid_++,
                      .main = true,
                      .ignores_signals = behaviour_.ignores_signals,
                      .unkillable = once_in(80),
                      .reacts_after = behaviour_.reacts_after,
                      .exits_with = behaviour_.exits_with});
  const std::uint64_t children = once_in(2) ? below(4) : 0;
  for (std::uint64_t i = 0; i < children; ++i) {
    members_.push_back({.pid = next_pid_++,
                        .ignores_signals = once_in(3),
                        .unkillable = once_in(60),
                        .reacts_after = up_to(once_in(3) ? Time{1min} : Time{300}),
                        .exits_with = std::nullopt});
  }
}

// Somebody always loses patience in the end: some programs never end by themselves.
void SupervisedWorld::plan_user() {
  static constexpr std::array<int, 8> numbers = {
      signals::interrupt, signals::terminate, signals::hangup,    signals::quit,
      signals::user1,     signals::go_on,     signals::interrupt, signals::user2};
  const std::uint64_t impatience = once_in(3) ? 1 + below(4) : 0;
  for (std::uint64_t i = 0; i < impatience; ++i) {
    Time when = some_lifetime();
    const std::uint64_t times = 1 + below(3);
    for (std::uint64_t j = 0; j < times; ++j) {
      at(when, [this, number = numbers[below(numbers.size())]] { send_user_signal(number); });
      when += up_to(5s);
    }
  }
  at(3 * week, [this] { send_user_signal(signals::terminate); });
}

// --- what happens

void SupervisedWorld::at(Time when, std::function<void()> what) {
  happenings_.push({when, ++planned_, std::move(what)});
}

void SupervisedWorld::tell(const Event& event) {
  ++steps_;
  for (const Action& action : supervisor_->step(event, now_)) {
    if (report_) crime("it asks for something behind Finish");
    std::visit([this](const auto& what) { act(what); }, action);
  }
}

void SupervisedWorld::sample(std::size_t attempt) {
  if (attempt != attempt_ || gone_told_) return;
  event::Sample seen;
  if (!behaviour_.quiet) output_ += 10;
  processor_ += behaviour_.quiet ? 0 : static_cast<std::uint64_t>(sampled_every_.count());
  seen.output_bytes = output_;
  seen.processor_ms = processor_;
  const double s = static_cast<double>((now_ - started_).count()) / 1000;
  Bytes used{static_cast<std::uint64_t>(behaviour_.bytes_per_s * s) + (1U << 28U)};
  if (policy_.memory && enforced_) used = std::min(used, *policy_.memory);
  seen.memory = used;
  seen.has_enforced_limit = enforced_;
  over_limit_ = over_limit_ || (policy_.memory && !enforced_ && used > *policy_.memory);
  if (policy_.memory && enforced_ && used == *policy_.memory && any_alive()) {
    by_kernel_ = out_of_memory_ = true;
    end_member(members_.front().pid, {128 + signals::kill, signals::kill});
  }
  tell(seen);
  // Things that make no sense now, which a driver in trouble may still tell.
  if (once_in(50)) tell(event::Begin{});
  if (once_in(50)) tell(event::Started{});
  if (once_in(50)) tell(event::Tick{});
  if (once_in(50) && !diagnosing_) tell(event::Diagnosed{std::nullopt, true, true});
  if (once_in(50)) tell(event::NotStarted{{127, std::nullopt}, "no such program"});
  after(sampled_every_, [this, attempt] { sample(attempt); });
}

void SupervisedWorld::send_user_signal(int number) {
  const bool reached = once_in(2) && attempt_ > 0;
  if (asks_for_end(number)) {
    if (!first_stop_) {
      first_stop_ = now_;
    } else if (number != signals::hangup) {
      ++insisted_;
    }
  }
  if (reached && !members_.empty()) signal_member(members_.front().pid, number);
  tell(event::Signal{number, reached});
}

SimulatedMember* SupervisedWorld::find(std::uint64_t pid) {
  const auto found = std::find_if(members_.begin(), members_.end(),
                                  [pid](const auto& member) { return member.pid == pid; });
  return found == members_.end() ? nullptr : &*found;
}

void SupervisedWorld::signal_member(std::uint64_t pid, int number) {
  const SimulatedMember* member = find(pid);
  if (member == nullptr || !member->alive) return;
  if (number == signals::kill) {
    if (member->unkillable) return;
    after(up_to(20ms), [this, pid] { end_member(pid, {128 + signals::kill, signals::kill}); });
  } else if (asks_for_end(number) && !member->ignores_signals) {
    const Exit exit =
        member->exits_with ? Exit{*member->exits_with, std::nullopt} : Exit{128 + number, number};
    after(member->reacts_after, [this, pid, exit] { end_member(pid, exit); });
  }
}

void SupervisedWorld::end_member(std::uint64_t pid, Exit exit) {
  SimulatedMember* member = find(pid);
  if (member == nullptr || !member->alive) return;
  member->alive = false;
  if (member->main) {
    real_exit_ = exit;
    main_ended_ = now_;
    const std::size_t attempt = attempt_;
    after(up_to(100ms), [this, exit, attempt] {
      if (attempt != attempt_) return;
      tell(event::MainEnded{exit});
      if (once_in(20)) tell(event::MainEnded{{77, std::nullopt}});
    });
    // Some of its children end with it.
    for (const SimulatedMember& child : members_) {
      if (!child.alive || child.ignores_signals || !once_in(2)) continue;
      after(up_to(700ms), [this, other = child.pid] { end_member(other, {0, std::nullopt}); });
    }
  }
  tell_gone_when_gone();
}

bool SupervisedWorld::any_alive() const {
  return std::any_of(members_.begin(), members_.end(),
                     [](const auto& member) { return member.alive; });
}

std::vector<LeftBehind> SupervisedWorld::left_behind() const {
  std::vector<LeftBehind> left;
  for (const SimulatedMember& member : members_) {
    if (member.alive || !member.main) left.push_back({member.pid, "child", !member.alive});
  }
  return left;
}

// The driver may notice it before or after the end of the command's own process.
void SupervisedWorld::tell_gone_when_gone() {
  if (any_alive() || gone_told_) return;
  gone_told_ = true;
  const std::size_t attempt = attempt_;
  after(up_to(once_in(10) ? Time{3000} : Time{100}), [this, attempt] {
    if (attempt == attempt_) tell(event::TreeGone{left_behind()});
  });
}

}  // namespace headroom::testing
