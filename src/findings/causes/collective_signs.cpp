// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/collective_signs.h"

#include <algorithm>

#include "findings/causes/libraries.h"

namespace headroom::findings {

using logs::Observation;

namespace {

bool is_before(const Observation& one, const Observation& other) {
  return std::pair(one.log, one.line) < std::pair(other.log, other.line);
}

bool is_typed(const Observation& one) {
  return one.signature->role == knowledge::Role::command || one.id() == "command-typed";
}

// Whether `other` is after the run of `line`, which ends with the next command that is typed.
bool is_of_later_run(const logs::Observations& log, const Observation& line,
                     const Observation& other) {
  const auto& all = log.all();
  return std::any_of(all.begin(), all.end(), [&](const Observation& one) {
    return is_typed(one) && is_before(line, one) && !is_before(other, one);
  });
}

// Finds the line where a person stopped a run that had shown no work.
const Observation* stopped_by_hand(const logs::Observations& log) {
  const Observation* stop = log.first("interrupted");
  if (stop == nullptr) return nullptr;
  for (const Observation& one : log.all()) {
    if (one.signature->role == knowledge::Role::progress && !is_of_later_run(log, *stop, one)) {
      return nullptr;
    }
  }
  return stop;
}

// Finds the last line of RCCL's set-up, if neither progress nor a failure follows.
const Observation* last_of_silence(const logs::Observations& log) {
  const Observation* last = log.last("nccl-init");
  if (last == nullptr) return nullptr;
  for (const Observation& one : log.all()) {
    if (!is_before(*last, one) || is_of_later_run(log, *last, one)) continue;
    const knowledge::Role role = one.signature->role;
    const bool ends = role == knowledge::Role::progress || role == knowledge::Role::failure ||
                      role == knowledge::Role::consequence;
    if (ends) return nullptr;
  }
  return last;
}

// The first error of RCCL, unless it says that it was called wrongly: then nobody waits.
const Observation* error_of_the_way(const logs::Observations& log) {
  for (const Observation* one : log.of("nccl-error")) {
    const bool wrong = one->text.find("nvalid usage") != std::string::npos ||
                       one->text.find("InvalidUsage") != std::string::npos;
    if (!wrong && !log.seen("rccl-duplicate-gpu")) return one;
  }
  return nullptr;
}

}  // namespace

const Observation* CollectiveSigns::first() const {
  for (const Observation* one : {timeout, apart, error, stands, stopped, waits, silent}) {
    if (one != nullptr) return one;
  }
  return nullptr;
}

CollectiveSigns find_collective_signs(const logs::Observations& log) {
  CollectiveSigns signs;
  signs.timeout = log.first_of({"nccl-timeout", "nccl-heartbeat", "gloo-timeout"});
  signs.error = error_of_the_way(log);
  signs.apart = log.first("rendezvous-timeout");
  signs.several = log.any_of({"several-ranks", "nccl-init", "nccl-p2p-channel",
                              "nccl-other-channel", "nccl-timeout", "nccl-iommu"});
  const Observation* frame = log.first("frame-in-collective");
  const Observation* halt = log.first_of({"said-to-hang", "hung-task"});
  // A person who stops a job that makes progress has other reasons.
  if (halt == nullptr) halt = stopped_by_hand(log);
  if (halt == nullptr) halt = test_without_result(log);
  if (halt == nullptr && frame != nullptr) halt = log.first("hang-told");
  if (frame != nullptr && (halt != nullptr || log.seen("stack-dump"))) signs.stands = frame;
  if (signs.several) signs.stopped = halt;
  // While kernels are compiled this is printed too, and work follows.
  signs.waits = log.first("broadcast-waits");
  if (log.first_with(knowledge::Role::progress) != nullptr) signs.waits = nullptr;
  signs.silent = last_of_silence(log);
  return signs;
}

const Observation* test_without_result(const logs::Observations& log) {
  const auto& all = log.all();
  for (const Observation* begun : log.of("rccl-test-begun")) {
    const bool went_on = std::any_of(all.begin(), all.end(), [&](const Observation& one) {
      return is_typed(one) && is_before(*begun, one);
    });
    const bool told = std::any_of(all.begin(), all.end(), [&](const Observation& one) {
      const knowledge::Role role = one.signature->role;
      const bool tells = role == knowledge::Role::progress || role == knowledge::Role::failure ||
                         role == knowledge::Role::consequence;
      return tells && is_before(*begun, one) && !is_of_later_run(log, *begun, one);
    });
    if (went_on && !told) return begun;
  }
  return nullptr;
}

const Observation* failure_before(const logs::Observations& log, const Observation& line) {
  for (const Observation& one : log.all()) {
    if (!is_before(one, line)) return nullptr;
    if (one.signature->role != knowledge::Role::failure) continue;
    const bool of_collectives = one.id().starts_with("nccl-") || one.id() == "gloo-timeout" ||
                                one.id() == "rendezvous-timeout" ||
                                !one.signature->causes.empty() ||
                                one.id() == "peer-access-failed" ||
                                one.id() == "iommu-page-fault" || one.id() == "hung-task";
    const std::string_view type = one.value("type");
    if (one.id() == "shared-library-missing" && !missing_library(one)) continue;
    if (!of_collectives && !type.starts_with("Dist")) return &one;
  }
  return nullptr;
}

}  // namespace headroom::findings
