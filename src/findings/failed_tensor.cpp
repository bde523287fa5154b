// SPDX-License-Identifier: Apache-2.0
#include "findings/failed_tensor.h"

#include <algorithm>

#include "estimate/job_arguments.h"
#include "estimate/printed_size.h"
#include "findings/causes/failed_allocation.h"

namespace headroom::findings {
namespace {

// A match with more doubt than this may be mere chance (explain.h).
constexpr unsigned most_doubt = 1;

std::string printed_size(const logs::Observation& seen) {
  for (const char* name : {"asked", "asked_1", "asked_2"}) {
    if (!seen.value(name).empty()) return std::string(seen.value(name));
  }
  return "";
}

estimate::JobDimensions dimensions_of_log(const LogSubject& subject) {
  std::string commands;
  for (const logs::Observation* one : subject.log.of("command-line")) {
    commands += std::string(one->value("command_line")) + "\n";
  }
  return estimate::dimensions_in(commands);
}

std::optional<FailedTensor> find_in(const LogSubject& subject, const FailedAllocation& failed,
                                    const estimate::JobDimensions& job) {
  const std::string size = printed_size(*failed.seen);
  const auto printed = estimate::parse_printed_size(size);
  if (!printed) return std::nullopt;
  auto matches = estimate::explain_allocation(printed->size, printed->precision, job);
  std::erase_if(matches, [](const estimate::TensorMatch& one) {
    return one.rank != 0 || one.doubt > most_doubt;
  });
  if (matches.empty()) return std::nullopt;
  return FailedTensor{size, std::move(matches), show(subject, *failed.seen, size + " asked for")};
}

}  // namespace

std::optional<FailedTensor> find_failed_tensor(const LogSubject& subject) {
  const estimate::JobDimensions job =
      subject.job != nullptr ? *subject.job : dimensions_of_log(subject);
  if (job.empty()) return std::nullopt;
  for (const FailedAllocation& failed : failed_allocations(subject.log)) {
    if (failed.seen == nullptr) continue;
    if (auto found = find_in(subject, failed, job)) return found;
  }
  return std::nullopt;
}

}  // namespace headroom::findings
