// SPDX-License-Identifier: Apache-2.0
#include "run/command/running_attempt.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "facts/kernel_text.h"
#include "machine/tree/wait.h"
#include "probe/read_text.h"
#include "run/command/kernel_lines.h"

namespace headroom::run {
namespace {

using machine::LimitKind;
using machine::Relay;
using machine::TreeMember;
using supervisor::Time;
namespace event = supervisor::event;

constexpr int standard_output = 1;
constexpr int standard_errors = 2;

// SIGHUP, SIGINT, SIGQUIT, SIGTERM; and SIGCONT, as signal(7) has it on x86, ARM and POWER.
constexpr std::array end_signals{1, 2, 3, 15};
constexpr int continue_signal = 18;

constexpr Time first_step{20};
constexpr Time longest_step{250};
// The driver takes a process's queues and memory down after its end; longer than this is a fault.
constexpr Time release_time{10000};

void raise(std::optional<Bytes>& peak, const std::optional<Bytes>& now) {
  if (now) peak = std::max(peak.value_or(Bytes{}), *now);
}

std::vector<std::uint64_t> pids_of(const std::vector<TreeMember>& members) {
  std::vector<std::uint64_t> pids;
  for (const TreeMember& member : members) pids.push_back(member.pid);
  return pids;
}

bool is_among(const std::vector<TreeMember>& members, std::uint64_t pid) {
  return std::any_of(members.begin(), members.end(),
                     [pid](const TreeMember& member) { return member.pid == pid; });
}

// Everything is passed on.
bool is_done(const Relay& relay) {
  const std::array one{relay.descriptor()};
  const std::vector<bool> ready = machine::wait_readable(one, 0);
  return ready.front();
}

bool is_kernels(LimitKind kind) {
  return kind != LimitKind::none && kind != LimitKind::added_up;
}

}  // namespace

RunningAttempt::RunningAttempt(const AttemptHost& host, bool is_one)
    : host_(host),
      log_(host.machine.rules, is_one),
      gpu_(host.machine.files, host.machine.facts),
      pace_(host.command.policy.hang) {}

Result<std::unique_ptr<RunningAttempt>> RunningAttempt::start(const std::vector<std::string>& argv,
                                                              const AttemptHost& host, Time now) {
  const bool is_one = Relay::is_same_target(standard_output, standard_errors);
  std::unique_ptr<RunningAttempt> attempt(new RunningAttempt(host, is_one));
  HEADROOM_CHECK(attempt->open_relays());
  HEADROOM_CHECK(attempt->start_tree(argv));
  attempt->since_ = attempt->next_sample_ = now;
  attempt->pids_.insert(attempt->tree_->pid());
  if (host.kernel != nullptr) host.kernel->next();  // What was said before concerns others.
  return attempt;
}

Status RunningAttempt::open_relays() {
  const bool is_one = Relay::is_same_target(standard_output, standard_errors);
  const auto open = [this](int target, LogStream stream) -> Status {
    HEADROOM_TRY(auto relay, Relay::start(target, [this, stream](std::string_view piece,
                                                                 std::uint64_t left_out) {
                   log_.feed(stream, piece, left_out);
                 }));
    relays_.push_back(std::move(relay));
    return Done{};
  };
  HEADROOM_CHECK(open(standard_output, LogStream::output));
  if (!is_one) HEADROOM_CHECK(open(standard_errors, LogStream::errors));
  return Done{};
}

Status RunningAttempt::start_tree(const std::vector<std::string>& argv) {
  machine::TreeOptions options;
  options.argv = host_.command.launcher;
  options.argv.insert(options.argv.end(), argv.begin(), argv.end());
  options.environment = host_.command.environment;
  options.memory = host_.command.policy.memory;
  options.signals = &host_.signals;
  options.output = relays_.front()->source();
  options.errors = relays_.back()->source();
  auto tree = machine::ProcessTree::start(options);
  for (const auto& relay : relays_) relay->close_source();
  if (!tree) {
    for (const auto& relay : relays_) relay->finish();
    return std::move(tree).error();
  }
  tree_ = *std::move(tree);
  return Done{};
}

std::vector<int> RunningAttempt::descriptors() const {
  std::vector<int> descriptors;
  if (stage_ == Stage::running) descriptors.push_back(tree_->descriptor());
  if (stage_ == Stage::draining) {
    for (const auto& relay : relays_) {
      // Whoever is done stays readable: only the others are waited for.
      if (!is_done(*relay)) descriptors.push_back(relay->descriptor());
    }
  }
  return descriptors;
}

bool RunningAttempt::is_in_line() const {
  return relays_.back()->is_in_line();
}

event::Sample RunningAttempt::take_sample(Time now) {
  const machine::TreeUse use = tree_->use();
  event::Sample sample;
  for (const auto& relay : relays_) sample.output_bytes += relay->bytes();
  sample.processor_ms = use.processor_ms;
  sample.memory = use.memory;
  sample.has_enforced_limit = is_kernels(tree_->limit_kind());
  // What has ended has no memory any more; that is no measure of what it had.
  if (use.rss && use.rss->value > 0) raise(peak_.rss, use.rss);
  raise(peak_.cgroup, use.group_peak);
  kernel_kills_ = std::max(kernel_kills_, use.kernel_kills);
  const auto& limit = host_.command.policy.memory;
  if (limit && !sample.has_enforced_limit && use.memory && *use.memory > *limit)
    raise(over_limit_, use.memory);
  const std::vector<TreeMember> members = tree_->members();
  for (const TreeMember& member : members) pids_.insert(member.pid);
  const GpuUse gpu = gpu_.look(pids_of(members), now);
  raise(peak_.vram, gpu.vram);
  raise(peak_.gtt, gpu.gtt);
  sample.gpu_ms = gpu.work_ms;
  sample.peak = peak_;
  measure_system(use, gpu, sample);
  read_kernel();
  next_sample_ = now + pace_.next({sample.output_bytes, sample.processor_ms, sample.gpu_ms,
                                   left_until_limit(sample)});
  return sample;
}

void RunningAttempt::measure_system(const machine::TreeUse& use, const GpuUse& gpu,
                                    event::Sample& sample) const {
  if (!host_.command.policy.guard) return;
  const auto memory = facts::parse_meminfo(probe::read_text(host_.machine.files, "/proc/meminfo"));
  sample.system_left = memory.available.optional();
  if (use.rss) sample.held = *use.rss + gpu.gtt.value_or(Bytes{});
}

// Until the nearest of those that nobody but the supervisor enforces.
std::optional<Bytes> RunningAttempt::left_until_limit(const event::Sample& sample) const {
  const supervisor::Policy& policy = host_.command.policy;
  std::optional<Bytes> left;
  if (policy.memory && limit_kind() == LimitKind::added_up)
    left = sample.memory ? saturating_sub(*policy.memory, *sample.memory) : *policy.memory;
  if (policy.guard && sample.system_left) {
    const Bytes until = saturating_sub(*sample.system_left, *policy.guard);
    left = left ? std::min(*left, until) : until;
  }
  return left;
}

void RunningAttempt::read_kernel() {
  if (host_.kernel == nullptr) return;
  for (const machine::KernelMessage& message : host_.kernel->next()) {
    const std::string line = machine::KernelMessages::to_line(message);
    if (concerns_command(line, pids_)) log_.feed_kernel(line + "\n");
  }
}

// What a command wrote that ended well, nobody asks for: passed on is all that it has to be.
void RunningAttempt::leave_unread() {
  is_unread_ = true;
  host_.machine.rules.give_up();
  for (const auto& relay : relays_) relay->stop_telling();
}

void RunningAttempt::enter(Stage stage, Time now) {
  stage_ = stage;
  since_ = next_look_ = now;
  step_ = first_step;
}

std::optional<Time> RunningAttempt::wake_at() const {
  switch (stage_) {
    case Stage::running:
      return next_sample_;
    case Stage::ending:
      return std::min(next_sample_, next_look_);
    case Stage::draining:
    case Stage::releasing:
      return next_look_;
    case Stage::gone:
    case Stage::over:
      break;
  }
  return std::nullopt;
}

std::vector<supervisor::Event> RunningAttempt::look(Time now) {
  std::vector<supervisor::Event> events;
  look_for_end(now, events);
  if (stage_ == Stage::ending) watch_tree(now, events);
  if (stage_ == Stage::draining) drain(now);
  if (stage_ == Stage::releasing) release(now);
  const bool has_processes = stage_ == Stage::running || stage_ == Stage::ending;
  if (has_processes && now >= next_sample_) events.emplace_back(take_sample(now));
  if (now >= next_look_) {
    next_look_ = now + step_;
    step_ = std::min(step_ * 2, longest_step);
  }
  return events;
}

void RunningAttempt::look_for_end(Time now, std::vector<supervisor::Event>& events) {
  const auto ended = tree_->main_exit();  // Also reaps whatever else has ended.
  if (stage_ != Stage::running || !ended) return;
  events.emplace_back(take_sample(now));
  events.emplace_back(event::MainEnded{{ended->code, ended->signal}});
  if (ended->code == 0 && !ended->signal) leave_unread();
  enter(Stage::ending, now);
}

void RunningAttempt::watch_tree(Time now, std::vector<supervisor::Event>& events) {
  const auto members = tree_->members();
  for (const TreeMember& member : members) pids_.insert(member.pid);
  if (!members.empty() && !is_abandoned_) return;
  unended_ = members;
  kernel_kills_ = std::max(kernel_kills_, tree_->use().kernel_kills);
  enter(Stage::gone, now);
  events.emplace_back(event::TreeGone{left_behind()});
}

void RunningAttempt::wind_up(Time now) {
  if (stage_ == Stage::gone) enter(Stage::draining, now);
}

bool RunningAttempt::are_relays_done() const {
  return std::all_of(relays_.begin(), relays_.end(),
                     [](const auto& relay) { return is_done(*relay); });
}

void RunningAttempt::drain(Time now) {
  // Whoever cannot be ended may hold the streams for ever.
  if (unended_.empty() && !are_relays_done()) return;
  for (const auto& relay : relays_) {
    if (unended_.empty()) {
      relay->finish();
    } else {
      relay->finish(0);
    }
  }
  enter(Stage::releasing, now);
}

void RunningAttempt::release(Time now) {
  if (!is_abandoned_) remains_ = gpu_.remains();
  if (!remains_.empty() && now - since_ < release_time) return;
  read_kernel();
  if (!is_unread_) log_.finish();
  enter(Stage::over, now);
}

std::vector<supervisor::LeftBehind> RunningAttempt::left_behind() const {
  std::vector<supervisor::LeftBehind> list;
  for (const TreeMember& member : outlived_)
    list.push_back({member.pid, member.command, !is_among(unended_, member.pid)});
  return list;
}

std::vector<supervisor::LeftBehind> RunningAttempt::driver_remains() const {
  std::vector<supervisor::LeftBehind> list;
  for (const KfdRemains& one : remains_)
    list.push_back({one.pid, "ended, but the GPU's driver still lists it", false});
  return list;
}

void RunningAttempt::send(int signal) {
  // It may have ended meanwhile, which the next look tells.
  (void)tree_->send(signal).has_value();
  // One that is stopped would not act on it until its time of grace is over.
  const bool asks_for_end =
      std::find(end_signals.begin(), end_signals.end(), signal) != end_signals.end();
  if (asks_for_end) (void)tree_->send(continue_signal).has_value();
}

void RunningAttempt::end_tree(bool kill, Time now) {
  constexpr int terminate_signal = 15;
  constexpr int kill_signal = 9;
  if (stage_ != Stage::running && stage_ != Stage::ending) return;
  if (stage_ == Stage::ending) {
    for (const TreeMember& member : tree_->members()) {
      if (!is_among(outlived_, member.pid)) outlived_.push_back(member);
    }
  }
  (void)tree_->send_all(kill ? kill_signal : terminate_signal).has_value();
  step_ = first_step;
  next_look_ = now;
}

void RunningAttempt::abandon_tree(Time now) {
  if (stage_ != Stage::running && stage_ != Stage::ending) return;
  is_abandoned_ = true;
  outlived_ = tree_->members();
  enter(Stage::ending, now);
}

void RunningAttempt::copy_window_size() {
  constexpr int window_changed = 28;  // SIGWINCH
  bool changed = false;
  for (const auto& relay : relays_) changed = relay->copy_window_size() || changed;
  if (changed) send(window_changed);
}

std::vector<std::string> RunningAttempt::warnings() const {
  std::vector<std::string> list;
  for (const auto& relay : relays_) {
    if (const auto problem = relay->problem())
      list.push_back("not all of the command's output could be written: " + problem->message);
  }
  for (const KfdRemains& one : remains_) {
    list.push_back(fmt::format(
        "process {} has ended, but the GPU's driver still lists it after {} s{}", one.pid,
        release_time.count() / 1000,
        one.memory.value > 0 ? fmt::format(" with {}", to_string(one.memory)) : std::string()));
  }
  return list;
}

}  // namespace headroom::run
