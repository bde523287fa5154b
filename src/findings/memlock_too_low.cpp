// SPDX-License-Identifier: Apache-2.0
// memlock-too-low: with InfiniBand or RoCE adapters, RCCL registers its buffers, which locks them
// in RAM, but the limit on locked memory is the system's small default.
#include <fmt/format.h>

#include "findings/job_gpus.h"

namespace headroom::findings {
namespace {

using namespace literals;

constexpr Bytes enough = 1_GiB;

std::vector<Finding> find(const Subject& subject) {
  const facts::Interconnect& interconnect = subject.facts.interconnect;
  const bool fabric = interconnect.infiniband && *interconnect.infiniband;
  const auto& limit = interconnect.memlock;
  if (!fabric || !limit || !(limit->value < enough.value) || job_gpus(subject.facts).empty())
    return {};
  Finding finding;
  finding.id = "memlock-too-low";
  finding.severity = Severity::warning;
  finding.title =
      fmt::format("a process may lock only {} of memory, and RCCL over InfiniBand needs more",
                  to_string(*limit));
  finding.evidence = {show(limit, "the limit on locked memory"),
                      show(interconnect.infiniband, "network adapters that need locked memory")};
  finding.fix = {
      command("echo '* - memlock unlimited' | sudo tee /etc/security/limits.d/90-headroom.conf",
              "(then log in again)"),
      sentence("For a service, set LimitMEMLOCK=infinity in its unit."),
      sentence("For a container: docker run --ulimit memlock=-1 …")};
  finding.next = NextCommand::fix("memlock-too-low");
  return {finding};
}

}  // namespace

constinit const Rule memlock_too_low_rule = {
    .id = "memlock-too-low",
    .meaning = "There are InfiniBand or RoCE adapters, and processes may lock too little memory.",
    .why =
        "Registering buffers fails with \"ibv_reg_mr failed\", and RCCL falls back to TCP or "
        "stops.",
    .fix = "Raise the limit on locked memory for the user, the service or the container.",
    .find = find,
};

}  // namespace headroom::findings
