// SPDX-License-Identifier: Apache-2.0
// kernel-too-old: the kernel lacks the chip, a fix that it needs (data/advisories.toml), or counts
// an APU's memory in a way that later ones do not. Kernel version, target and sizes decide.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "facts/kernel_release.h"
#include "findings/advisories.h"
#include "findings/causes/access.h"
#include "findings/causes/causes.h"
#include "findings/causes/kernel_runs.h"
#include "findings/causes/unbound_gpu.h"

namespace headroom::findings {
namespace {

using knowledge::Advisory;
using logs::Observation;

std::string kernel_name(const Scene& scene) {
  return scene.machine.kernel ? "Linux " + *scene.machine.kernel : "The running kernel";
}

void advise(const LogSubject& subject, std::string_view since, Hypothesis& kernel) {
  if (!since.empty()) {
    kernel.fix.push_back(sentence(fmt::format("Boot Linux {} or later.", since)));
  } else {
    kernel.fix.push_back(sentence("Boot a newer kernel."));
  }
  const auto& id = subject.scene.machine.distribution_id;
  if (id && id->find("ubuntu") != std::string::npos) {
    kernel.fix.push_back(
        sentence("Ubuntu LTS: sudo apt install --install-recommends "
                 "linux-generic-hwe-$(lsb_release -rs), or linux-oem-$(lsb_release -rs)"));
  } else if (id && *id == "debian") {
    kernel.fix.push_back(
        sentence("Debian: sudo apt install -t \"$(lsb_release -cs)-backports\" linux-image-amd64 "
                 "firmware-amd-graphics"));
  }
  kernel.fix.push_back(
      sentence("Install the newest linux-firmware as well, and reboot. Then check: uname -r"));
}

// Converts "0b0501" to gfx1151.
std::string target_of_version(std::string_view hex) {
  const auto number = parse_hex(hex);
  if (!number) return "";
  return fmt::format("gfx{}{:x}{:x}", *number >> 16U, (*number >> 8U) & 0xFFU, *number & 0xFFU);
}

bool older_than_runtime(const LogSubject& subject, Hypothesis& kernel) {
  const Observation* said = subject.log.first("runtime-newer-than-kernel");
  if (said == nullptr) return false;
  kernel.confidence = 0.9;
  kernel.title = fmt::format("The compute driver of {} is older than this ROCm needs",
                             kernel_name(subject.scene));
  kernel.reasons.emplace_back("A container uses the host's driver, whatever ROCm it contains.");
  kernel.evidence.push_back(show(subject, *said));
  advise(subject, "", kernel);
  kernel.fix.push_back(
      sentence("Or use an older ROCm (container image) that works with this kernel."));
  return true;
}

// Kernels up to 5.11 list their devices. A device that headroom's table has is supported by a later
// kernel.
bool lacks_device(const LogSubject& subject, Hypothesis& kernel) {
  const Observation* said = subject.log.first("kfd-device-missing");
  if (said == nullptr) return false;
  const auto id = parse_hex(said->value("device"));
  const knowledge::Device* device =
      id ? subject.tables.device(static_cast<std::uint32_t>(*id)) : nullptr;
  if (device == nullptr) return false;  // Perhaps no kernel ever supports it.
  kernel.confidence = 0.8;
  kernel.title = fmt::format("The compute driver of {} does not know the {} ({})",
                             kernel_name(subject.scene), device->name, device->gfx);
  kernel.reasons.emplace_back("The compute driver of later kernels supports it.");
  kernel.evidence.push_back(show(subject, *said));
  kernel.alternatives.push_back({"gpu-unsupported", 0.15, "headroom check, on a newer kernel"});
  advise(subject, "", kernel);
  return true;
}

bool lacks_chip(const LogSubject& subject, Hypothesis& kernel) {
  const Observation* version = subject.log.first("kfd-unsupported-version");
  const Observation* block = subject.log.first("kernel-lacks-chip");
  if (version == nullptr && block == nullptr) return false;
  const Observation& said = version != nullptr ? *version : *block;
  const std::string gfx = target_of_version(said.value(version != nullptr ? "version" : "ip"));
  const bool known = subject.tables.target(gfx) != nullptr;
  kernel.confidence = version != nullptr ? (known ? 0.9 : 0.6) : 0.88;
  kernel.title = fmt::format("{} does not know {}", kernel_name(subject.scene),
                             known ? "the chip " + gfx : gpu_title(subject.scene));
  kernel.reasons.emplace_back(
      known && version != nullptr
          ? "The compute driver of later kernels supports this graphics version."
          : "amdgpu found a part of the chip that it has no code for.");
  kernel.evidence.push_back(show(subject, said));
  advise(subject, "", kernel);
  return true;
}

facts::Gpu as_gpu(const SceneGpu& known) {
  facts::Gpu gpu;
  gpu.name = known.name;
  if (!known.gfx.empty()) gpu.gfx = {known.gfx, known.source};
  if (known.integrated) gpu.integrated = {*known.integrated, known.source};
  return gpu;
}

// Whether the kernel leaves an APU's carve-out unused, as 6.10 to 6.14 do.
bool ignores_carve_out(const LogSubject& subject, const SceneGpu& apu, const AdvisoryMatch& match,
                       Hypothesis& kernel) {
  const Advisory& advisory = *match.advisory;
  if (advisory.id != "apu-6.10-to-6.14") return false;
  constexpr Bytes worth_having{std::uint64_t{4} << 30};
  const facts::Fact<Bytes>& carve_out = subject.scene.vram;
  if (!carve_out || *carve_out < worth_having) return false;
  const bool measured = apu.pool && apu.pool->value < carve_out->value * 6 / 10;
  const auto& seen = subject.log.all();
  const bool out_of_memory = std::any_of(seen.begin(), seen.end(), [](const Observation& one) {
    return to_lower(one.text).find("out of memory") != std::string::npos;
  });
  if (!measured && (apu.pool || !out_of_memory)) return false;
  kernel.confidence = measured ? 0.88 : 0.4;
  kernel.title = measured ? fmt::format("{} leaves the carve-out of {} unused: ROCm gets {}",
                                        kernel_name(subject.scene), to_string(*carve_out),
                                        to_string(*apu.pool))
                          : fmt::format("{} leaves an APU's carve-out of {} unused",
                                        kernel_name(subject.scene), to_string(*carve_out));
  kernel.reasons.push_back(advisory.happens);
  if (measured) kernel.evidence.push_back(show(apu.pool, "what ROCm offers"));
  kernel.evidence.push_back(show(carve_out, "the carve-out"));
  kernel.evidence.push_back(show(subject.scene.machine.kernel, "from 6.10 up to 6.14"));
  kernel.fix = sentences(advisory.to_do);
  kernel.alternatives.push_back(
      {"ttm-cap", 0.3, "cat /sys/module/ttm/parameters/pages_limit, on a kernel from 6.15 on"});
  return true;
}

bool known_bad(const LogSubject& subject, Hypothesis& kernel) {
  facts::Facts facts;
  facts.machine = subject.scene.machine;
  if (subject.scene.rocm) facts.machine.rocm = subject.scene.rocm;
  const Subject about{facts, subject.tables};
  const bool fails = subject.log.first_with(knowledge::Role::failure) != nullptr ||
                     subject.log.first_with(knowledge::Role::consequence) != nullptr;
  for (const SceneGpu& known : subject.scene.gpus) {
    for (const AdvisoryMatch& match : match_advisories(about, as_gpu(known))) {
      if (ignores_carve_out(subject, known, match, kernel)) return true;
      if (match.advisory->cause != "kernel-too-old" || !fails) continue;
      kernel.confidence = match.certain ? 0.6 : 0.4;
      kernel.title =
          fmt::format("{} lacks a fix that {} needs", kernel_name(subject.scene), known.gfx);
      kernel.reasons.push_back(match.advisory->happens);
      kernel.reasons.insert(kernel.reasons.end(), match.reasons.begin(), match.reasons.end());
      kernel.evidence = match.evidence;
      kernel.fix = sentences(match.advisory->to_do);
      return true;
    }
  }
  return false;
}

// The log itself has the job on two kernels, and it works on one of them.
bool fails_on_one_kernel(const LogSubject& subject, Hypothesis& kernel) {
  const auto compared = compare_kernels(subject.log);
  if (!compared) return false;
  const auto& [fails, works, newer_works] = *compared;
  kernel.confidence = newer_works ? 0.78 : 0.5;
  kernel.title = fmt::format("Linux {} fails where Linux {} works", fails.release, works.release);
  kernel.reasons.emplace_back(
      newer_works ? "The same machine was booted with a newer kernel, and the failure is gone, so "
                    "the older one lacks a fix."
                  : "The same machine was booted with an older kernel, and the failure is gone, so "
                    "a newer kernel brought the fault and does not have the fix yet.");
  kernel.evidence = {
      show(subject, *fails.failure, "it fails"), show(subject, *fails.told, "on this kernel"),
      show(subject, *works.told, "the other kernel"), show(subject, *works.work, "there it works")};
  kernel.fix = {sentence(fmt::format("Boot Linux {}{}.", works.release,
                                     newer_works ? " or later" : ", and keep it installed"))};
  if (!newer_works) {
    kernel.fix.push_back(
        sentence("Try the newest kernel as well. A fault that one release brought is often fixed "
                 "in a later one."));
    kernel.alternatives = {
        {"framework-bug", 0.2, "try a newer release of the program on both kernels"}};
  }
  return true;
}

bool older_than_chip(const LogSubject& subject, Hypothesis& kernel) {
  // In WSL the driver is Windows's, and the Linux kernel has none that could be too old.
  if (platform_of(subject).platform == Platform::wsl) return false;
  const facts::Text& running = subject.scene.machine.kernel;
  const Observation* lost =
      subject.log.first_of({"module-not-loaded", "gpu-init-failed", "kfd-absent", "no-gpu-seen",
                            "rocminfo-failed", "kfd-refuses-process"});
  const Observation* unbound = unbound_gpu(subject.log);
  if (unbound != nullptr) lost = unbound;
  const auto version = running ? facts::parse_kernel_version(*running) : std::nullopt;
  if (!version || lost == nullptr) return false;
  for (const knowledge::FirstKernel& first : subject.tables.advisories.first_kernels) {
    const SceneGpu* gpu = subject.scene.gpu(first.gfx);
    if (gpu == nullptr || !facts::in_range(*version, {"0", std::string(first.since)})) continue;
    kernel.confidence = unbound != nullptr ? 0.85 : 0.65;
    kernel.title = fmt::format("{} is older than {}", kernel_name(subject.scene), first.gfx);
    kernel.reasons.push_back(fmt::format(
        "amdgpu knows {} from about Linux {} on, unless AMD's DKMS driver is installed.", first.gfx,
        first.since));
    kernel.evidence = {show(running, "the running kernel"),
                       show(subject, *lost, unbound != nullptr ? "no driver has it" : "")};
    kernel.alternatives.push_back({"driver-not-loaded", 0.3, "sudo dmesg | grep -i amdgpu"});
    advise(subject, first.since, kernel);
    return true;
  }
  return false;
}

// hipMemGetInfo() asks the compute driver for what is free, with a call that came with version 1.9
// of its interface, in about Linux 6.0 (linux: include/uapi/linux/kfd_ioctl.h; ollama/ollama#3840).
bool lacks_memory_query(const LogSubject& subject, Hypothesis& kernel) {
  const Observation* asked = nullptr;
  constexpr std::uint64_t near = 3;
  for (const Observation* refused : subject.log.of("hip-invalid-call")) {
    if (refused->value("error") != "invalid argument") continue;
    for (const Observation* one : subject.log.of("mem-get-info")) {
      const bool follows = one->log == refused->log && one->line >= refused->line;
      if (follows && one->line - refused->line <= near) asked = refused;
    }
  }
  if (asked == nullptr) asked = subject.log.first("memory-query-refused");
  const facts::Text& running = subject.scene.machine.kernel;
  const auto version = running ? facts::parse_kernel_version(*running) : std::nullopt;
  if (asked == nullptr || (version && !facts::in_range(*version, {"0", "6.0"}))) return false;
  kernel.confidence = version ? 0.82 : 0.4;
  kernel.title = fmt::format("The compute driver of {} cannot say how much memory is free",
                             kernel_name(subject.scene));
  kernel.reasons.emplace_back(
      "hipMemGetInfo() needs a call that the driver has since about Linux 6.0, unless AMD's DKMS "
      "driver is installed. Without it HIP answers \"invalid argument\".");
  kernel.evidence.push_back(show(subject, *asked));
  if (version) kernel.evidence.push_back(show(running, "the running kernel"));
  kernel.alternatives.push_back({"framework-bug", 0.2, "uname -r; modinfo amdgpu | grep ^version"});
  advise(subject, "6.0", kernel);
  return true;
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  Hypothesis kernel;
  if (older_than_runtime(subject, kernel) || lacks_device(subject, kernel) ||
      lacks_chip(subject, kernel) || fails_on_one_kernel(subject, kernel) ||
      known_bad(subject, kernel) || older_than_chip(subject, kernel) ||
      lacks_memory_query(subject, kernel)) {
    if (const facts::Text& now = subject.scene.kernel_now) {
      kernel.fix.insert(kernel.fix.begin(),
                        sentence(fmt::format("Run it again first. The machine has Linux {} now, "
                                             "and the log is from another kernel.",
                                             *now)));
    }
    return kernel;
  }
  return std::nullopt;
}

}  // namespace

constinit const CauseRule kernel_too_old_cause = {
    .id = "kernel-too-old",
    .meaning = "The running kernel lacks support for this GPU, or a fix that it needs.",
    .why =
        "amdgpu and the compute driver are part of the kernel. A new GPU needs a new kernel, and "
        "on APUs the kernel decides which memory ROCm may use.",
    .fix = "Boot a newer kernel, with the firmware that belongs to it.",
    .explains =
        "driver-not-loaded device-permission ttm-cap uma-carveout-small job-too-big gpu-hang "
        "free-memory-misreported gpu-unsupported framework-bug crash-loop",
    .find = find,
};

}  // namespace headroom::findings
