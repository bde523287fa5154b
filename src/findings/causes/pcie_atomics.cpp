// SPDX-License-Identifier: Apache-2.0
// pcie-atomics: KFD leaves a GPU out because the way between it and the CPU does not support atomic
// operations. The kernel says so; graphics keeps working, so only ROCm misses the card.
#include <fmt/format.h>

#include "base/text.h"
#include "findings/causes/access.h"
#include "findings/causes/causes.h"
#include "logs/describe.h"

namespace headroom::findings {
namespace {

using logs::Observation;

std::string name_of(const LogSubject& subject, std::string_view id) {
  const auto number = parse_hex(id);
  const knowledge::Device* device =
      number ? subject.tables.device(static_cast<std::uint32_t>(*number)) : nullptr;
  return device != nullptr ? fmt::format("{} (1002:{})", device->name, id)
                           : fmt::format("the GPU 1002:{}", id);
}

void explain_firmware(const Observation& rejected, Hypothesis& atomics) {
  const auto mec = parse_u64(rejected.value("mec")), needed = parse_u64(rejected.value("needed"));
  if (!mec || !needed) return;
  if (*needed == 0) {
    atomics.reasons.emplace_back("No firmware lets this chip work without them.");
    return;
  }
  atomics.reasons.push_back(fmt::format(
      "Its MEC firmware is {}. From {} on, the chip works without atomics.", *mec, *needed));
  atomics.fix.push_back(
      sentence(fmt::format("Install a newer linux-firmware, rebuild the initramfs and reboot. MEC "
                           "{} or later does not need atomics.",
                           *needed)));
}

// Finds a line in which a port refused an atomic operation. The first byte of the packet then means
// FetchAdd, Swap or CAS with data, of 3 or 4 words (PCI Express Base Specification, table of
// formats and types).
const Observation* atomic_refused(const logs::Observations& log) {
  if (const Observation* blocked = log.first("atomic-blocked")) return blocked;
  if (!log.seen("pcie-uncorrected")) return nullptr;
  for (const Observation* one : log.of("tlp-header")) {
    const std::string type(one->value("header").substr(0, 2));
    for (const std::string_view atomic : {"4c", "4d", "4e", "6c", "6d", "6e"}) {
      if (type == atomic) return one;
    }
  }
  return nullptr;
}

// clr refuses the launch of a kernel that needs a hostcall buffer (rocvirtual.cpp).
Hypothesis refused_launch(const LogSubject& subject, const Observation& state) {
  Hypothesis atomics;
  const Observation* link = subject.log.first_of({"atomics-off", "outside-link-told"});
  atomics.confidence = link != nullptr ? 0.76 : 0.42;
  atomics.title = "A kernel that calls the host cannot start: the GPU's link has no PCIe atomics";
  atomics.evidence.push_back(show(subject, state, logs::describe(state)));
  if (link != nullptr) atomics.evidence.push_back(show(subject, *link, "how it is connected"));
  if (const Observation* other = subject.log.first("tensor-on-gpu")) {
    atomics.evidence.push_back(show(subject, *other, "a kernel that does not call the host"));
  }
  atomics.reasons.emplace_back(
      "HIP gives this error where it cannot set up calls from a kernel to the host. Kernels that "
      "print, assert or allocate need them; others work on the same GPU.");
  atomics.fix.push_back(sentence(
      "Try a newer PyTorch: 2.2 and later need such calls in fewer kernels (ROCm/ROCm#2950)."));
  atomics.alternatives = {{"framework-bug", 0.3, "AMD_LOG_LEVEL=3 CMD 2>&1 | grep -i hostcall"}};
  return atomics;
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  const Observation* rejected = subject.log.first("atomics-rejected");
  Hypothesis atomics;
  if (rejected != nullptr) {
    atomics.confidence = 0.96;
    const auto skipped = subject.log.of("atomics-rejected").size();
    const auto added = subject.log.of("kfd-added").size();
    atomics.title = fmt::format("KFD skips {}: its slot has no PCIe atomics",
                                name_of(subject, rejected->value("device")));
    if (added > 0) {
      atomics.title += fmt::format(" ({} of {} GPUs left)", added, added + skipped);
    }
    atomics.evidence.push_back(show(subject, *rejected, "the compute driver leaves it out"));
    explain_firmware(*rejected, atomics);
  } else if (const Observation* packet = atomic_refused(subject.log)) {
    atomics.confidence = 0.85;
    atomics.title = "A port of the slot refuses atomic operations over PCIe";
    atomics.evidence.push_back(show(subject, *packet, "an atomic operation was refused"));
    if (const Observation* error = subject.log.first("pcie-uncorrected")) {
      atomics.evidence.push_back(show(subject, *error));
    }
    atomics.reasons.emplace_back(
        "The packet that the port calls malformed or unsupported is an atomic operation, which the "
        "port does not support. The card and its link are fine.");
    atomics.alternatives.push_back(
        {"hw-error", 0.15, "see whether the error also comes with graphics only: sudo dmesg -w"});
  } else if (const Observation* call = subject.log.first("hostcall-without-atomics")) {
    const Observation* off = subject.log.first("atomics-off");
    atomics.confidence = off != nullptr ? 0.9 : 0.75;
    atomics.title = "The GPU's slot has no PCIe atomics, which kernels that call the host need";
    atomics.evidence.push_back(show(subject, *call, logs::describe(*call)));
    if (off != nullptr) atomics.evidence.push_back(show(subject, *off));
    if (const Observation* added = subject.log.first("kfd-added")) {
      atomics.evidence.push_back(show(subject, *added, "KFD added it anyway"));
    }
    atomics.reasons.emplace_back(
        "The compute driver accepts this chip without them. GPU kernels that print, assert or "
        "allocate still call the host with an atomic operation, and their dispatch fails.");
  } else if (const Observation* state = subject.log.first("hip-illegal-state")) {
    atomics = refused_launch(subject, *state);
  } else {
    const Observation* off = subject.log.first("atomics-off");
    const Observation* lost = gpu_not_seen(subject);
    if (off == nullptr || lost == nullptr) return std::nullopt;
    atomics.confidence = 0.5;
    atomics.title = "The GPU's slot has no PCIe atomics, which older chips need for compute";
    atomics.evidence = {show(subject, *off), show(subject, *lost)};
    atomics.alternatives.push_back(
        {"device-permission", 0.3, "sudo dmesg | grep -i atomics; ls -l /dev/kfd; id"});
  }
  atomics.reasons.emplace_back(
      "On this chip ROCm's queues use atomic operations over PCIe. Chipset slots, risers, "
      "Thunderbolt boxes and old platforms often do not support them.");
  for (const char* step :
       {"Put the card into the slot that is wired to the CPU (lspci -tv shows a short path to the "
        "root)",
        "See which bridges support them: sudo lspci -vvv | grep -E '^[0-9a-f]|AtomicOps'   (every "
        "bridge on the way needs routing +, and the GPU ReqEn+)",
        "If there is no such slot, use Vulkan, which works there. ROCm does not."}) {
    atomics.fix.push_back(sentence(step));
  }
  return atomics;
}

}  // namespace

constinit const CauseRule pcie_atomics_cause = {
    .id = "pcie-atomics",
    .meaning = "The compute driver skips the GPU, because its slot does not support PCIe atomics.",
    .why =
        "The card works for graphics. Only compute is missing, and ROCm does not say why. Chips "
        "from gfx9 on (Vega 10 and later Instincts), and RDNA with newer firmware, do not need "
        "atomics.",
    .fix = "Use a slot that is wired to the CPU, or firmware that does not need atomics.",
    .explains =
        "device-index device-permission driver-not-loaded gpu-unsupported kfd-not-passed "
        "framework-bug missing-library hw-error gpu-hang",
    .find = find,
};

}  // namespace headroom::findings
