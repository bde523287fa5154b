// SPDX-License-Identifier: Apache-2.0
#include "run/proof/step_process.h"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <set>
#include <utility>

#include "base/mutex.h"
#include "base/text.h"
#include "machine/clock.h"
#include "machine/tree/process_tree.h"
#include "machine/tree/relay.h"
#include "machine/tree/relay_ends.h"
#include "machine/tree/wait.h"
#include "proof/step_kinds.h"
#include "proof/wrong_step.h"
#include "run/command/attempt_diagnosis.h"
#include "run/command/kernel_lines.h"
#include "run/command/log_watch.h"
#include "run/proof/error_line.h"
#include "supervisor/wording.h"

namespace headroom::run {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kill_signal = 9;
constexpr std::uint64_t between_looks_ms = 100;
constexpr std::uint64_t longest_drain_ms = 5000;  // For what a process that cannot be ended holds.

milliseconds now() {
  return std::chrono::duration_cast<milliseconds>(
      std::chrono::nanoseconds(machine::monotonic_ns()));
}

class StepProcess {
 public:
  StepProcess(const StepHost& host, std::string device, bool on_gpu)
      : host_(host),
        device_(std::move(device)),
        on_gpu_(on_gpu),
        log_(host.rules, false),
        lines_([this](std::string_view text) { log_.feed(LogStream::output, text); }) {}

  Status start(const std::vector<std::string>& words);
  EndedSteps wait();

 private:
  void read_output(std::string_view piece, std::uint64_t left_out) HEADROOM_EXCLUDES(mutex_);
  void read_errors(std::string_view piece, std::uint64_t left_out);
  // Whether there was progress since the last look.
  bool look() HEADROOM_EXCLUDES(mutex_);
  seconds limit() const;
  void end(EndedSteps& ended);
  void clean_up() const;
  void read_kernel();
  proof::StepResult failure() const;

  const StepHost& host_;
  std::string device_;
  bool on_gpu_;
  LogWatch log_;
  ErrorLine error_line_;
  Mutex mutex_;
  proof::StepLines lines_ HEADROOM_GUARDED_BY(mutex_);
  std::size_t progress_ = 0;
  std::string running_;
  machine::TreeExit exit_;
  std::uint64_t kernel_kills_ = 0;
  std::uint64_t processor_ms_ = 0;  // Used when there was progress last.
  std::set<std::uint64_t> pids_;
  std::optional<machine::RelayEnds> input_;
  std::unique_ptr<machine::Relay> output_, errors_;
  std::unique_ptr<machine::ProcessTree> tree_;
};

void StepProcess::read_output(std::string_view piece, std::uint64_t left_out) {
  const MutexLock lock(mutex_);
  if (left_out > 0) lines_.lose();
  lines_.feed(piece);
}

void StepProcess::read_errors(std::string_view piece, std::uint64_t left_out) {
  error_line_.feed(piece);
  log_.feed(LogStream::errors, piece, left_out);
}

Status StepProcess::start(const std::vector<std::string>& words) {
  constexpr int nowhere = -1;
  HEADROOM_TRY(output_, machine::Relay::start(nowhere, [this](auto piece, auto left_out) {
                 read_output(piece, left_out);
               }));
  HEADROOM_TRY(errors_, machine::Relay::start(nowhere, [this](auto piece, auto left_out) {
                 read_errors(piece, left_out);
               }));
  if (host_.kernel != nullptr) host_.kernel->next();  // What was said before concerns others.
  machine::TreeOptions options;
  options.argv = host_.command;
  options.argv.insert(options.argv.end(), words.begin(), words.end());
  options.environment = host_.environment;
  if (host_.holds_input) {
    HEADROOM_TRY(input_, machine::make_pipe_ends());
  }
  options.input = host_.holds_input ? input_->reading.get() : nowhere;
  options.output = output_->source();
  options.errors = errors_->source();
  auto tree = machine::ProcessTree::start(options);
  output_->close_source();
  errors_->close_source();
  if (!tree) {
    output_->finish();
    errors_->finish();
    return std::move(tree).error();
  }
  tree_ = *std::move(tree);
  pids_.insert(tree_->pid());
  return Done{};
}

bool StepProcess::look() {
  const MutexLock lock(mutex_);
  if (lines_.progress() == progress_) return false;
  progress_ = lines_.progress();
  if (host_.on_step && !lines_.running().empty() && lines_.running() != running_)
    host_.on_step(device_, lines_.running());
  running_ = lines_.running();
  return true;
}

seconds StepProcess::limit() const {
  const proof::StepKind* kind = proof::find_step(running_.empty() ? proof::import_step : running_);
  return host_.limit.value_or(kind->limit);
}

EndedSteps StepProcess::wait() {
  EndedSteps ended;
  const milliseconds begin = now();
  milliseconds last = begin;
  for (;;) {
    const std::array one{tree_->descriptor()};
    machine::wait_readable(one, between_looks_ms);
    if (const auto exit = tree_->main_exit()) {
      exit_ = *exit;
      // Of what ran elsewhere, the command only tells a shell's code.
      constexpr int by_signal = 128;
      if (host_.holds_input && exit_.code > by_signal) exit_.signal = exit_.code - by_signal;
      break;
    }
    if (look()) {
      last = now();
      processor_ms_ = tree_->use().processor_ms;
    }
    const bool is_endless = host_.whole && now() - begin > *host_.whole;
    if (is_endless || now() - last > limit()) {
      ended.is_hung = true;
      break;
    }
  }
  end(ended);
  return ended;
}

// Everything of it is ended, and all that it wrote is read.
void StepProcess::end(EndedSteps& ended) {
  const machine::TreeUse use = tree_->use();
  kernel_kills_ = use.kernel_kills;
  // Half of the time: others may want the processor, too.
  constexpr std::uint64_t share = 2;
  const auto silence_ms = static_cast<std::uint64_t>(milliseconds(limit()).count());
  const bool is_busy = share * (use.processor_ms - processor_ms_) > silence_ms;
  for (const machine::TreeMember& member : tree_->members()) pids_.insert(member.pid);
  (void)tree_->send_all(kill_signal).has_value();
  clean_up();
  ended.has_ended = tree_->members().empty();
  for (machine::Relay* relay : {output_.get(), errors_.get()}) relay->finish(longest_drain_ms);
  look();
  read_kernel();
  log_.finish();
  const bool has_failed = ended.is_hung || exit_.code != 0;
  if (has_failed && running_.empty() && ended.is_hung) running_ = proof::import_step;
  if (has_failed) ended.failed = failure();
  const MutexLock lock(mutex_);
  if (ended.is_hung) {
    const bool on_gpu = lines_.devices() ? !lines_.devices()->empty() : on_gpu_;
    proof::StepResult hung = proof::make_hung(
        running_, {static_cast<long>(limit().count()), on_gpu, ended.has_ended, is_busy});
    // What the kernel said of it tells more.
    if (ended.failed->cause) hung.cause = std::move(ended.failed->cause);
    ended.failed = std::move(hung);
  }
  ended.results = lines_.results();
  ended.devices = lines_.devices();
  ended.version = lines_.version();
  ended.frameworks = lines_.frameworks();
  ended.training = lines_.training();
  ended.soak = lines_.soak();
  ended.gpu_resets = log_.observations().of("gpu-reset").size();
}

// In silence, and not for longer than a daemon that answers takes.
void StepProcess::clean_up() const {
  constexpr std::uint64_t longest_ms = 30'000;
  if (host_.clean_up.empty()) return;
  machine::TreeOptions options;
  options.argv = host_.clean_up;
  options.environment = host_.environment;
  options.input = options.output = options.errors = -1;
  const auto tree = machine::ProcessTree::start(options);
  if (!tree) return;
  const std::array one{(*tree)->descriptor()};
  machine::wait_readable(one, longest_ms);
}

void StepProcess::read_kernel() {
  if (host_.kernel == nullptr) return;
  for (const machine::KernelMessage& message : host_.kernel->next()) {
    const std::string line = machine::KernelMessages::to_line(message);
    if (concerns_command(line, pids_)) log_.feed_kernel(line + "\n");
  }
}

proof::StepResult StepProcess::failure() const {
  proof::StepResult result;
  result.name = running_;
  result.ok = false;
  const supervisor::Exit exit{exit_.code, exit_.signal};
  const std::string said = error_line_.text();
  if (exit.signal || said.empty()) result.detail = "its process " + supervisor::describe_exit(exit);
  if (!said.empty()) result.detail += (result.detail.empty() ? "" : "; it wrote: ") + said;
  const logs::Observations log = log_.observations();
  const EndedAttempt attempt{.log = log,
                             .log_names = log_.names(),
                             .exit = exit,
                             .kernel_kills = kernel_kills_,
                             .limit = {},
                             .over_limit = {}};
  const MachineAfter machine{host_.facts, host_.diagnosis};
  auto cause = diagnose_attempt(attempt, &machine, host_.tables).cause;
  if (!cause || cause->id == "insufficient-evidence") return result;
  result.cause = proof::StepCause{cause->id, cause->confidence, std::move(cause->title),
                                  std::move(cause->evidence), std::move(cause->fix)};
  return result;
}

}  // namespace

Result<EndedSteps> run_steps(const StepHost& host, const std::vector<std::string>& words,
                             const std::string& device, bool on_gpu) {
  StepProcess process(host, device, on_gpu);
  HEADROOM_CHECK(process.start(words));
  return process.wait();
}

}  // namespace headroom::run
