// SPDX-License-Identifier: Apache-2.0
// rccl-p2p: a job on several GPUs hangs or fails, and there is a sign that transfers between the
// GPUs are the reason: RCCL's own warning about the IOMMU, a refused address, a refused peer, or
// that the job runs with peer-to-peer off. That GPUs use peer-to-peer is normal and says nothing.
#include <fmt/format.h>

#include <utility>

#include "findings/advice.h"
#include "findings/causes/causes.h"
#include "findings/causes/collective_signs.h"
#include "findings/causes/control_run.h"
#include "findings/causes/crash_signs.h"
#include "findings/causes/failed_allocation.h"
#include "findings/causes/recovery.h"
#include "logs/describe.h"

namespace headroom::findings {
namespace {

using logs::Observation;

enum class Iommu { unknown, passes, translates };

Iommu iommu_of(const Scene& scene) {
  if (!scene.cmdline) return Iommu::unknown;
  for (const std::string_view word :
       {"iommu=pt", "amd_iommu=off", "intel_iommu=off", "iommu=off", "iommu.passthrough=1"}) {
    if (scene.cmdline->find(word) != std::string::npos) return Iommu::passes;
  }
  return Iommu::translates;
}

// Finds the setting that turns peer-to-peer off in the run that failed: one further down belongs to
// a later run.
const facts::Setting* p2p_off(const Scene& scene, const Observation& failure) {
  const facts::Setting* setting = scene.setting("NCCL_P2P_DISABLE");
  if (setting == nullptr || setting->value != "1") return nullptr;
  const bool later = setting->source.path == failure.log_name &&
                     setting->source.line > static_cast<int>(failure.line);
  return later ? nullptr : setting;
}

// Whether the setting was typed with a command, so that it holds for that command alone.
bool holds_for_one_run(const logs::Observations& log, const Observation& setting) {
  if (setting.text.find("export ") != std::string::npos) return false;
  const auto& all = log.all();
  return std::any_of(all.begin(), all.end(), [&](const Observation& one) {
    return is_command(one) && one.log == setting.log && one.line == setting.line;
  });
}

// Finds the first progress of the run that has the setting.
const Observation* progress_with(const logs::Observations& log, const Observation& setting) {
  const bool for_one_run = holds_for_one_run(log, setting);
  for (const Observation& later : log.all()) {
    if (later.log != setting.log || later.line <= setting.line) continue;
    if (for_one_run && is_command(later)) return nullptr;
    if (later.signature->role == knowledge::Role::progress) return &later;
  }
  return nullptr;
}

// Finds the line which shows that the job hung, peer-to-peer was turned off, and the job then made
// progress; or a remark that says so.
const Observation* runs_without_peers(const logs::Observations& log, const Observation& failure) {
  if (const auto* said = log.first("p2p-off-works")) return said;
  for (const Observation* told : log.of("setting-outcome")) {
    if (told->value("tried") == "NCCL_P2P_DISABLE" && told_to_work(*told)) return told;
  }
  for (const Observation* setting : log.of("setting")) {
    const bool off = setting->value("setting") == "NCCL_P2P_DISABLE" &&
                     setting->value("value") == "1" && setting->log == failure.log &&
                     setting->line > failure.line;
    if (off && progress_with(log, *setting) != nullptr) return setting;
  }
  return nullptr;
}

// Finds a reset by the machine's watchdog after several GPUs reached each other directly, if no
// line in between tells of a fault of one GPU or of the hardware.
const Observation* stood_still(const logs::Observations& log) {
  const Observation* peers = log.first_of({"peer-access-enabled", "nccl-p2p-channel"});
  const Observation* reset = log.first("host-reset-by-watchdog");
  if (peers == nullptr || reset == nullptr) return nullptr;
  if (std::pair(reset->log, reset->line) < std::pair(peers->log, peers->line)) return nullptr;
  const bool told =
      log.any_of({"ring-timeout", "gpu-reset", "memory-access-fault", "gpu-page-fault",
                  "hw-exception", "mes-timeout", "hws-hang", "device-lost"});
  return told ? nullptr : reset;
}

// Whether llama.cpp or ollama spreads a model over several GPUs of one kind. A discrete GPU beside
// an integrated one has other troubles.
bool spreads_over_peers(const logs::Observations& log) {
  const auto devices = log.of("ggml-device");
  for (const Observation* one : devices) {
    for (const Observation* other : devices) {
      const bool alike = one->value("gfx") == other->value("gfx");
      if (alike && one->value("index") != other->value("index")) return true;
    }
  }
  return false;
}

// Finds the bus's error of several cards that each work alone.
const Observation* fails_only_together(const logs::Observations& log) {
  if (!log.seen("each-card-works-alone")) return nullptr;
  return log.first_of({"pcie-uncorrected", "machine-check", "host-reset-by-watchdog"});
}

struct Finding {
  double confidence = 0;
  const Observation* line = nullptr;
  std::string reason;
};

Finding judge(const LogSubject& subject, const CollectiveSigns& signs) {
  const logs::Observations& log = subject.log;
  const Iommu iommu = iommu_of(subject.scene);
  const Observation* warning = log.first("nccl-iommu");
  const Observation* refused = log.first("iommu-page-fault");
  if (refused != nullptr && (signs.several || signs.first() != nullptr)) {
    return {0.85, refused, "The IOMMU refused a transfer while several GPUs were in use."};
  }
  if (const auto* peer = log.first("peer-access-failed")) {
    return {0.8, peer, "One GPU could not access another GPU's memory."};
  }
  if (const auto* reset = stood_still(log)) {
    return {0.6, reset,
            "GPUs wrote into each other's memory, and then the whole machine froze without a "
            "message. A transfer that never ends blocks the bus."};
  }
  if (const auto* bus = fails_only_together(log)) {
    return {confidence::possible, bus,
            "Each card works alone, and the bus reports an error where several are in use: what "
            "one sends to another does not arrive."};
  }
  if (const auto* frame = log.first("nccl-p2p-frame")) {
    return {0.65, frame, "RCCL's own trace says that its transport between GPUs failed."};
  }
  if (const auto* said = log.first("peer-copy-off-works")) {
    const bool failed = signs.first() != nullptr || log.seen("output-garbled");
    if (failed) return {0.7, said, "It is said to work with that setting."};
  }
  if (const auto* garbled = log.first("output-garbled"); garbled && spreads_over_peers(log)) {
    return {confidence::possible, garbled,
            "The model is spread over GPUs of one kind, which copy directly to each other. If that "
            "does not work, the data arrives corrupted, and nothing reports it."};
  }
  if (signs.first() == nullptr) return {};
  if (const auto* works = runs_without_peers(log, *signs.first())) {
    return {0.85, works, "Without direct transfers (NCCL_P2P_DISABLE=1) it runs."};
  }
  const facts::Setting* off = p2p_off(subject.scene, *signs.first());
  if (warning != nullptr && iommu != Iommu::passes && off == nullptr) {
    const double sure = iommu == Iommu::translates ? 0.9 : 0.85;
    return {sure, warning,
            "RCCL itself warns that the IOMMU translates addresses, and the job stops where the "
            "first transfer between GPUs begins."};
  }
  if (const auto* acs = log.first("acs-redirects"); acs != nullptr && off == nullptr) {
    return {0.65, acs, "A PCIe bridge sends transfers between GPUs up to the root (ACS)."};
  }
  const Observation* option = log.first("p2p-kernel-option");
  const Observation* direct = log.first("nccl-p2p-channel");
  if (option != nullptr && direct != nullptr && signs.error != nullptr && off == nullptr &&
      is_before(*direct, *signs.error)) {
    return {0.65, signs.error,
            "RCCL set its direct transfers up, and fails at the first use. The kernel's options "
            "for peer-to-peer are named as what differs."};
  }
  const bool between_gpus = log.seen("nccl-p2p-channel") || test_without_result(log) != nullptr;
  if (iommu == Iommu::translates && off == nullptr && between_gpus) {
    return {confidence::possible, signs.first(),
            "GPUs transfer data directly if they can, and the kernel runs without iommu=pt."};
  }
  return {};
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  const CollectiveSigns signs = find_collective_signs(subject.log);
  const Finding found = judge(subject, signs);
  if (found.line == nullptr) return std::nullopt;
  Hypothesis peers;
  peers.confidence = found.confidence;
  peers.title = iommu_of(subject.scene) == Iommu::translates
                    ? "GPUs cannot exchange data: the kernel runs without iommu=pt"
                    : "GPUs cannot exchange data directly (peer-to-peer, IOMMU)";
  peers.reasons.push_back(found.reason);
  peers.evidence.push_back(show(subject, *found.line, logs::describe(*found.line)));
  if (signs.first() != nullptr && signs.first() != found.line) {
    peers.evidence.push_back(show(subject, *signs.first(), logs::describe(*signs.first())));
  }
  if (iommu_of(subject.scene) == Iommu::translates) {
    peers.evidence.push_back(show(subject.scene.cmdline, "it has no iommu=pt"));
  }
  show_some(subject, {"nccl-p2p-channel", "nccl-init"}, 2, peers);
  peers.fix = {sentence("First try it without direct transfers: NCCL_P2P_DISABLE=1 CMD"),
               sentence_with("To train at once without RCCL, let headroom average the gradients "
                             "through shared memory",
                             "headroom run --ranks auto -- CMD")};
  if (spreads_over_peers(subject.log)) {
    peers.fix = {
        sentence("Try it on one GPU: HIP_VISIBLE_DEVICES=0 CMD. If the result is right, build "
                 "llama.cpp with -DGGML_CUDA_NO_PEER_COPY=ON.")};
  }
  if (iommu_of(subject.scene) != Iommu::passes) {
    for (Step& step : steps_to_boot_with(subject.scene.machine, "iommu=pt")) {
      peers.fix.push_back(std::move(step));
    }
  }
  insert_before_reboot(
      sentence_with(
          "If it hangs even with iommu=pt, look for ACS on the bridges, and switch it off "
          "in the BIOS",
          "sudo lspci -vvv | grep ACSCtl"),
      peers.fix);
  peers.alternatives.push_back(
      {"collective-hang", 0.2, "NCCL_P2P_DISABLE=1 CMD: if it still hangs, it is not this"});
  return peers;
}

}  // namespace

constinit const CauseRule rccl_p2p_cause = {
    .id = "rccl-p2p",
    .meaning = "Transfers between GPUs hang or fail: peer-to-peer, IOMMU or ACS.",
    .why =
        "If the IOMMU translates addresses, or a bridge redirects transfers, data that one GPU "
        "writes into another GPU's memory may never arrive. Every collective operation then waits "
        "for it.",
    .fix =
        "Boot with iommu=pt, switch ACS off for the bridges between the GPUs, or set "
        "NCCL_P2P_DISABLE=1.",
    .explains = "collective-hang gpu-hang crash-loop app-bug framework-bug",
    .find = find,
};

}  // namespace headroom::findings
