// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/conclusions.h"

#include <fmt/format.h>

#include "logs/describe.h"

namespace headroom::findings {
namespace {

using knowledge::Role;
using logs::Observation;

// The last failure that no later progress makes up for, in the order of the logs.
const Observation* unrecovered(const logs::Observations& log) {
  const Observation* failure = nullptr;
  for (const Observation& one : log.all()) {
    const Role role = one.signature->role;
    if (role == Role::failure || role == Role::consequence) failure = &one;
  }
  return failure;
}

void add_evidence(const LogSubject& subject, Role role, std::size_t most, Hypothesis& hypothesis) {
  for (const Observation& one : subject.log.all()) {
    if (one.signature->role != role || hypothesis.evidence.size() >= most) continue;
    hypothesis.evidence.push_back(show(subject, one, logs::describe(one)));
  }
}

}  // namespace

bool is_healthy(const LogSubject& subject) {
  if (unrecovered(subject.log) != nullptr) return false;
  return subject.log.first_with(Role::progress) != nullptr ||
         subject.log.first_with(Role::noise) != nullptr;
}

Hypothesis conclude_healthy(const LogSubject& subject) {
  Hypothesis healthy;
  const bool works = subject.log.first_with(Role::progress) != nullptr;
  healthy.confidence = works ? 0.9 : 0.7;
  healthy.title = "Nothing failed here";
  if (works) healthy.reasons.emplace_back("The job did its work; no line reports a failure.");
  if (subject.log.first_with(Role::noise) != nullptr) {
    healthy.reasons.emplace_back("The lines that look like trouble are known to be harmless.");
  }
  add_evidence(subject, Role::progress, 3, healthy);
  add_evidence(subject, Role::noise, 6, healthy);
  healthy.fix.emplace_back("nothing to repair");
  return healthy;
}

Hypothesis conclude_not_amd(const LogSubject& subject) {
  Hypothesis foreign;
  const facts::Fact<Vendor>& vendor = subject.scene.vendor;
  foreign.confidence = 0.85;
  foreign.title = *vendor == Vendor::none
                      ? "No GPU has a part in this failure"
                      : fmt::format("This is about a GPU by {}, not by AMD", to_string(*vendor));
  foreign.evidence.push_back(show(vendor, "whose GPU it is"));
  add_evidence(subject, Role::failure, 4, foreign);
  foreign.fix.emplace_back(
      "headroom knows AMD's GPUs; what it would advise here does not apply to this machine");
  return foreign;
}

Hypothesis conclude_insufficient(const LogSubject& subject) {
  Hypothesis unknown;
  const Observation* failure = unrecovered(subject.log);
  unknown.confidence = failure != nullptr ? 0.7 : 0.6;
  unknown.title = failure != nullptr ? "The log ends without saying why"
                                     : "The log holds nothing that tells a cause";
  add_evidence(subject, Role::failure, 3, unknown);
  add_evidence(subject, Role::consequence, 5, unknown);
  unknown.fix = {
      "the kernel's side of the same minutes: sudo dmesg -T | grep -iE 'amdgpu|kfd|oom|mce|aer'",
      "the job's own words: run it again with its standard error kept: CMD 2>&1 | tee job.log",
      "then: headroom check --log job.log --log dmesg.txt --here",
  };
  return unknown;
}

}  // namespace headroom::findings
