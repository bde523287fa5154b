// SPDX-License-Identifier: Apache-2.0
// collective-hang: there are several ranks, and a collective operation (or DataParallel) never
// ends. Nothing points to the link between the GPUs; usually one rank is elsewhere in the program,
// has died, or does another number of steps.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "findings/causes/causes.h"
#include "findings/causes/collective_signs.h"
#include "findings/causes/crash_signs.h"
#include "logs/describe.h"

namespace headroom::findings {
namespace {

using logs::Observation;

// Waiting ranks spin: the GPUs are at 100 % and draw little power, and no step follows.
bool spins(const logs::Observations& log) {
  if (log.seen("said-to-be-busy")) return true;
  const auto rows = log.of("gpu-fully-busy");
  if (rows.size() < 2) return false;
  const auto& all = log.all();
  return std::none_of(all.begin(), all.end(), [&](const Observation& one) {
    const bool after = std::pair(one.log, one.line) > std::pair(rows[0]->log, rows[0]->line);
    return after && one.signature->role == knowledge::Role::progress;
  });
}

double confidence_of(const CollectiveSigns& signs, const logs::Observations& log) {
  const bool stands = signs.stopped != nullptr || signs.silent != nullptr;
  if (signs.several && stands && signs.timeout == nullptr && spins(log)) return 0.72;
  if (signs.timeout != nullptr) return 0.75;
  if (signs.apart != nullptr) return 0.6;
  if (signs.stands != nullptr) return 0.75;
  if (signs.stopped != nullptr && signs.several) return 0.55;
  if (signs.error != nullptr || signs.waits != nullptr) return 0.45;
  return signs.silent != nullptr && signs.several ? 0.4 : 0;
}

// A rank that never came: it was not started, died, or asks at another address. The GPUs have not
// met yet, so the connection between them is out of the question.
void tell_of_ranks_apart(Hypothesis& waiting) {
  waiting.title = "The ranks of the job do not find each other";
  waiting.reasons = {
      "Before the first operation the ranks meet at MASTER_ADDR and MASTER_PORT, over the network. "
      "No GPU takes part in that.",
      "One of them was not started, died before, or cannot reach that address."};
  waiting.fix = {
      sentence("See which ranks are there, and what the others say last: one log for each rank, "
               "torchrun --log-dir logs --tee 3 …"),
      sentence("Check that every rank has the same MASTER_ADDR, MASTER_PORT and WORLD_SIZE, and "
               "that the port is open between the machines."),
      sentence("With several network interfaces, name the one to use: NCCL_SOCKET_IFNAME=eth0 "
               "GLOO_SOCKET_IFNAME=eth0")};
  waiting.alternatives = {
      {"app-bug", 0.3, "the logs of all ranks: the one that ends first says why"}};
}

std::string title_of(const logs::Observations& log) {
  if (const Observation* timeout = log.first("nccl-timeout")) {
    const std::string operation(timeout->value("operation"));
    const auto limit = parse_u64(timeout->value("timeout"));
    return fmt::format("A collective operation{}{} did not end{}", operation.empty() ? "" : " ",
                       operation, limit ? fmt::format(" within {} s", *limit / 1000) : "");
  }
  if (const Observation* frame = log.first("frame-in-collective")) {
    for (const std::string_view name : {"call", "function", "native"}) {
      if (!frame->value(name).empty()) {
        return fmt::format("The job is stuck in {}", frame->value(name));
      }
    }
  }
  return "The ranks of the job wait for each other";
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  const CollectiveSigns signs = find_collective_signs(subject.log);
  Hypothesis waiting;
  waiting.confidence = confidence_of(signs, subject.log);
  const Observation* first = signs.first();
  if (first == nullptr || waiting.confidence == 0) return std::nullopt;
  waiting.title = title_of(subject.log);
  waiting.evidence.push_back(show(subject, *first, logs::describe(*first)));
  waiting.reasons.emplace_back(
      "A collective operation ends only when every rank takes part in it.");
  if (const Observation* failed = failure_before(subject.log, *first)) {
    waiting.confidence = std::min(waiting.confidence, 0.4);
    waiting.reasons.emplace_back(
        "Something else had failed before, and the other ranks wait for it.");
    waiting.evidence.push_back(show(subject, *failed));
  } else {
    waiting.reasons.emplace_back("No line mentions peer-to-peer, the IOMMU or a rank that died.");
  }
  show_some(subject,
            {"nccl-timeout", "rendezvous-timeout", "frame-in-collective", "nccl-error",
             "gpu-fully-busy", "several-ranks"},
            3, waiting);
  waiting.fix = {sentence("See where each rank is, for every rank: py-spy dump --pid PID"),
                 sentence("See which operation and which ranks it is: "
                          "TORCH_DISTRIBUTED_DEBUG=DETAIL NCCL_DEBUG=INFO CMD"),
                 sentence("Rule out the connection between the GPUs: NCCL_P2P_DISABLE=1 CMD; then "
                          "NCCL_SHM_DISABLE=1 CMD"),
                 sentence("If the job uses DataParallel, use DistributedDataParallel with one "
                          "process per GPU instead."),
                 sentence_with("To train without NCCL and RCCL, let headroom average the gradients "
                               "through shared memory",
                               "headroom run --ranks auto -- CMD")};
  waiting.alternatives.push_back(
      {"rccl-p2p", 0.35, "NCCL_P2P_DISABLE=1 CMD; grep iommu=pt /proc/cmdline"});
  if (signs.timeout == nullptr && signs.apart != nullptr) tell_of_ranks_apart(waiting);
  return waiting;
}

}  // namespace

constinit const CauseRule collective_hang_cause = {
    .id = "collective-hang",
    .meaning = "A collective operation or DataParallel waits forever.",
    .why =
        "Every rank has to call the same operations in the same order. If one rank died, took "
        "another branch or has other data, the rest wait at full GPU load, without a message.",
    .fix = "Dump the stacks of all ranks and find the one that is not in the same operation.",
    .explains = "crash-loop app-bug",
    .find = find,
};

}  // namespace headroom::findings
