// SPDX-License-Identifier: Apache-2.0
#include "run/proof/try_stacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "findings/job_gpus.h"
#include "proof/frameworks.h"
#include "proof/step_kinds.h"
#include "run/proof/step_process.h"

namespace headroom::run {
namespace {

using proof::StackResult;
using proof::StepResult;

constexpr const char* only_torch = "the planner knows PyTorch's memory, not that of ";
constexpr const char* cpu = "cpu";

std::chrono::seconds training_limit(const StepHost& host) {
  return host.limit.value_or(proof::find_step(proof::training_step)->limit);
}

void fail(StackResult& stack, StepResult failed) {
  stack.ok = false;
  stack.step = std::move(failed.name);
  stack.detail = std::move(failed.detail);
  stack.cause = std::move(failed.cause);
}

StepResult make_failed(std::string_view step, std::string detail) {
  StepResult result;
  result.name = std::string(step);
  result.ok = false;
  result.detail = std::move(detail);
  return result;
}

// How one framework came through its two processes: what can be told in one that has done much
// already, and the training.
class Stack {
 public:
  Stack(const StepHost& host, const Trial& trial, StackResult& row)
      : host_(host), trial_(trial), row_(row) {}

  void run() {
    if (!do_steps("devices,correctness", "correctness")) return;
    if (!do_steps("training", "training")) return;
    row_.ok = true;
  }

 private:
  bool run_words(const std::vector<std::string>& words, EndedSteps& ended) {
    const bool on_gpu = row_.device.empty() ? must_have_gpu_ : row_.device != cpu;
    auto result = run_steps(host_, words, row_.framework, on_gpu);
    if (!result) {
      fail(row_, make_failed(proof::import_step, result.error().message));
      return false;
    }
    ended = *std::move(result);
    return true;
  }

  // What failed of a process: a step that says so, or the process itself.
  bool take_failure(EndedSteps& ended, std::string_view wanted) {
    for (StepResult& result : ended.results) {
      if (!result.ok || *result.ok) continue;
      fail(row_, std::move(result));
      return false;
    }
    if (ended.failed) {
      if (ended.failed->name.empty()) ended.failed->name = std::string(wanted);
      fail(row_, *std::move(ended.failed));
      return false;
    }
    return true;
  }

  // What it told of itself, and where it sees none of the machine's GPUs, why.
  void take_device(EndedSteps& ended) {
    row_.version = ended.version;
    if (!ended.devices) return;
    const bool has_gpu = !ended.devices->empty();
    row_.device = has_gpu ? ended.devices->front().device : cpu;
    const auto& cause = host_.diagnosis.cause;
    if (has_gpu || !must_have_gpu_ || !cause || row_.framework != "torch") return;
    for (StepResult& result : ended.results) {
      if (result.name != "devices" || result.ok.value_or(true)) continue;
      result.cause =
          proof::StepCause{cause->id, cause->confidence, cause->title, cause->evidence, cause->fix};
    }
  }

  bool do_steps(const std::string& steps, const std::string& last) {
    EndedSteps ended;
    const bool is_first = row_.device.empty();
    const std::string device = !is_first ? row_.device : must_have_gpu_ ? "gpu" : "first";
    const std::vector<std::string> words = {"try",
                                            row_.framework,
                                            device,
                                            steps,
                                            "--job",
                                            to_words(trial_.job),
                                            "--training-steps",
                                            std::to_string(host_.training_steps),
                                            "--seconds",
                                            std::to_string(training_limit(host_).count())};
    if (!run_words(words, ended)) return false;
    if (is_first) take_device(ended);
    row_.training = std::move(ended.training);
    row_.step = last;
    if (!take_failure(ended, last)) return false;
    const auto done = std::find_if(ended.results.begin(), ended.results.end(),
                                   [&last](const StepResult& one) { return one.name == last; });
    const bool is_whole =
        done != ended.results.end() &&
        (last != proof::training_step || row_.training.step_s.size() == host_.training_steps);
    if (!is_whole || row_.device.empty()) {
      fail(row_, make_failed(last, "its result did not arrive"));
      return false;
    }
    row_.detail = done->detail;
    return true;
  }

  const StepHost& host_;
  const Trial& trial_;
  StackResult& row_;
  const bool must_have_gpu_ = !findings::job_gpus(host_.facts).empty();
};

StackResult make_row(const Trial& trial, std::string framework) {
  StackResult row;
  row.python = trial.python;
  row.image = trial.image;
  row.step = std::string(proof::import_step);
  if (framework == "torch") {
    row.planned_bytes = trial.planned_bytes;
    row.not_planned = trial.not_planned;
  } else if (!framework.empty()) {
    row.not_planned = only_torch + framework;
  }
  row.framework = std::move(framework);
  return row;
}

// Why there is no framework to try; nothing where `found` has some.
std::optional<StepResult> explain_none(Result<EndedSteps>& asked,
                                       const std::vector<std::string>& found) {
  if (!asked) return make_failed(proof::import_step, asked.error().message);
  if (asked->failed) {
    StepResult failed = *std::move(asked->failed);
    failed.name = std::string(proof::import_step);
    return failed;
  }
  if (!asked->frameworks)
    return make_failed(proof::import_step, "it ended well, and did not tell its frameworks");
  if (!found.empty()) return std::nullopt;
  StepResult failed =
      make_failed(proof::import_step, "it has neither torch nor jax nor tensorflow");
  failed.cause = proof::StepCause{
      "missing-library",
      0.9,
      "there is nothing in it to try",
      {{"the step import", 0, failed.detail, "what it found"}},
      {findings::command("headroom fix stack", "(names a build for this machine's GPU)")}};
  return failed;
}

}  // namespace

std::vector<StackResult> try_stacks(const StepHost& host, const Trial& trial) {
  auto asked = run_steps(host, {"frameworks"}, "", false);
  std::vector<std::string> found;
  if (asked && asked->frameworks) {
    for (const proof::Framework& one : proof::known_among(*asked->frameworks)) {
      if (one.trains) found.emplace_back(one.id);
    }
  }
  std::vector<StackResult> rows;
  if (auto none = explain_none(asked, found)) {
    fail(rows.emplace_back(make_row(trial, "")), *std::move(none));
    return rows;
  }
  for (const std::string& name : found)
    Stack(host, trial, rows.emplace_back(make_row(trial, name))).run();
  return rows;
}

}  // namespace headroom::run
