// SPDX-License-Identifier: Apache-2.0
#include "run/command/attempt_diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "findings/calibration.h"
#include "findings/log_diagnosis.h"

namespace headroom::run {
namespace {

using findings::LogDiagnosis;
using supervisor::AttemptCause;
using supervisor::Exit;

// Signatures of data/signatures.toml that say that an allocation failed.
constexpr std::array<std::string_view, 21> memory_failures = {
    "torch-oom",         "torch-oom-short",
    "torch-alloc-limit", "hip-oom",
    "ggml-oom",          "ggml-error-oom",
    "tf-alloc",          "tf-oom",
    "tf-oom-tensor",     "xla-oom",
    "arena-oom",         "cupy-oom",
    "vllm-kv-memory",    "vllm-startup-memory",
    "sglang-memory",     "blas-alloc",
    "cgroup-oom",        "host-oom-kill",
    "host-alloc",        "oom-killed",
    "headroom-guard"};

// Causes (docs/causes.md) for which a smaller job helps.
constexpr std::array<std::string_view, 13> memory_causes = {
    "job-too-big",       "fragmentation",           "vram-held-by-other",
    "vram-orphaned",     "memory-fraction-cap",     "ttm-cap",
    "gttsize-cap",       "uma-carveout-small",      "cgroup-memory-limit",
    "hipblas-workspace", "free-memory-misreported", "memory-growth",
    "vram-guard"};

constexpr double sure_of_another = 0.8;

template <class List>
bool contains(const List& list, std::string_view one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}

bool says_nothing(const std::string& id) {
  return id == "none" || id == "insufficient-evidence" || id == "not-amd-gpu";
}

// The last line that says so; nullptr: none does.
const logs::Observation* find_memory_failure(const logs::Observations& log) {
  const logs::Observation* found = nullptr;
  for (const std::string_view id : memory_failures) {
    const logs::Observation* one = log.last(id);
    if (one == nullptr) continue;
    if (found == nullptr || std::pair(found->log, found->line) < std::pair(one->log, one->line))
      found = one;
  }
  return found;
}

std::string size_or(const std::optional<Bytes>& size, const char* otherwise) {
  return size ? to_string(*size) : otherwise;
}

AttemptCause limit_cause(std::string title, findings::Evidence evidence) {
  AttemptCause cause;
  cause.id = "cgroup-memory-limit";
  cause.confidence = findings::confidence::proven;
  cause.title = std::move(title);
  cause.evidence = {std::move(evidence)};
  cause.fix = {
      findings::sentence("Give it more memory (headroom run --memory SIZE), or make it use less (a "
                         "smaller micro-batch with accumulation).")};
  return cause;
}

// What the group counted needs no log: nothing else ends a process there.
std::optional<AttemptCause> find_limit_cause(const EndedAttempt& attempt) {
  if (attempt.kernel_kills > 0) {
    return limit_cause(fmt::format("the kernel killed it at its memory limit of {}",
                                   size_or(attempt.limit, "the control group that it runs in")),
                       {"control group", 0, fmt::format("oom_kill {}", attempt.kernel_kills),
                        "processes of the group that the kernel killed because memory ran out"});
  }
  if (attempt.over_limit) {
    return limit_cause(fmt::format("its processes took more than the memory limit of {}",
                                   size_or(attempt.limit, "its group")),
                       {"/proc", 0, fmt::format("{} in all", to_string(*attempt.over_limit)),
                        "the memory of all its processes"});
  }
  return std::nullopt;
}

std::string describe(const Exit& exit) {
  return exit.signal ? fmt::format("ended by signal {}", *exit.signal)
                     : fmt::format("exit code {}", exit.code);
}

findings::Evidence show_exit(const Exit& exit) {
  return {"exit status", 0, describe(exit), "how its main process ended"};
}

// Of a card or a program that the rules have no more to say about.
AttemptCause memory_cause(const logs::Observation& line) {
  AttemptCause cause;
  cause.id = "job-too-big";
  cause.confidence = findings::confidence::possible;
  cause.title = "it asked for more memory than was available";
  cause.evidence = {{line.log_name, static_cast<int>(line.line), line.text, line.signature->says}};
  cause.fix = {findings::sentence(
      "Make it use less: a smaller micro-batch with accumulation, or a shorter sequence.")};
  return cause;
}

AttemptCause unclear_cause(const EndedAttempt& attempt) {
  AttemptCause cause;
  cause.id = "insufficient-evidence";
  cause.confidence = 1;
  cause.title = fmt::format("its output does not say why ({})", describe(attempt.exit));
  cause.evidence = {show_exit(attempt.exit)};
  return cause;
}

AttemptCause to_cause(const findings::Cause& cause, const Exit& exit) {
  AttemptCause result;
  result.id = cause.id;
  result.confidence = cause.confidence;
  result.title = cause.title;
  result.evidence = cause.evidence;
  if (result.evidence.empty()) result.evidence = {show_exit(exit)};
  result.fix = cause.fix;
  return result;
}

LogDiagnosis read_log(const EndedAttempt& attempt, const MachineAfter* machine,
                      const knowledge::GpuTables& tables) {
  const findings::Scene scene =
      findings::make_scene(attempt.log, {}, machine == nullptr ? nullptr : &machine->facts, tables);
  LogDiagnosis diagnosis =
      findings::diagnose_logs({attempt.log, scene, tables, attempt.log_names, nullptr});
  // What is wrong with the machine is no reason that a program which said nothing has ended.
  if (machine != nullptr && !says_nothing(diagnosis.cause.id))
    findings::join_machine(machine->diagnosis, diagnosis);
  findings::calibrate(diagnosis);
  return diagnosis;
}

}  // namespace

supervisor::event::Diagnosed diagnose_attempt(const EndedAttempt& attempt,
                                              const MachineAfter* machine,
                                              const knowledge::GpuTables& tables) {
  supervisor::event::Diagnosed answer;
  answer.killed_by_kernel = attempt.kernel_kills > 0;
  if (auto limit = find_limit_cause(attempt)) {
    answer.cause = std::move(limit);
    answer.out_of_memory = true;
    return answer;
  }
  const LogDiagnosis diagnosis = read_log(attempt, machine, tables);
  const findings::Cause& found = diagnosis.cause;
  const bool about_memory = contains(memory_causes, found.id);
  const bool clearly_another =
      !about_memory && !says_nothing(found.id) && found.confidence >= sure_of_another;
  const logs::Observation* failed = find_memory_failure(attempt.log);
  answer.out_of_memory = about_memory || (failed != nullptr && !clearly_another);
  if (!says_nothing(found.id)) {
    answer.cause = to_cause(found, attempt.exit);
  } else if (failed != nullptr) {
    answer.cause = memory_cause(*failed);
  } else {
    answer.cause = unclear_cause(attempt);
  }
  return answer;
}

}  // namespace headroom::run
