// SPDX-License-Identifier: Apache-2.0
// firmware-bad: the GPU hangs or faults, and its firmware is known for that (data/advisories.toml).
// It also means that the driver could not load a firmware file and gave up. A version alone is not
// enough: the log must show a failure.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "findings/causes/causes.h"
#include "findings/causes/contradiction.h"
#include "findings/causes/crash_signs.h"
#include "findings/causes/failed_allocation.h"
#include "findings/causes/told_story.h"
#include "logs/describe.h"

namespace headroom::findings {
namespace {

// The confidence depends on the effect, on whether the match is certain, and on whether the signs
// are those of the advisory.
double confidence_of(const AdvisoryMatch& match, const CrashSigns& signs) {
  const bool hangs = signs.scheduler != nullptr || signs.stopped != nullptr;
  if (match.advisory->effect == knowledge::Effect::bad) return match.certain ? 0.9 : 0.85;
  if (!hangs) return confidence::possible;
  if (signs.scheduler == nullptr) return 0.65;
  return match.certain ? 0.85 : confidence::likely;
}

std::optional<Hypothesis> find_known(const LogSubject& subject, const CrashSigns& signs,
                                     const logs::Observation& failure) {
  const auto matches = match_advisories(subject, "firmware");
  if (matches.empty()) return std::nullopt;
  const AdvisoryMatch& match = matches.front();
  Hypothesis bad;
  bad.confidence = confidence_of(match, signs);
  bad.title =
      fmt::format("{} runs MES firmware {:#x}, which is known to {}", gpu_at_start(subject.scene),
                  match.advisory->firmware->is,
                  match.advisory->effect == knowledge::Effect::bad ? "break compute"
                                                                   : "hang under compute jobs");
  bad.reasons.push_back(match.advisory->happens);
  bad.reasons.insert(bad.reasons.end(), match.reasons.begin(), match.reasons.end());
  if (!match.certain && match.reasons.empty()) {
    bad.reasons.emplace_back(
        "The log does not show which kernel runs. A newer kernel avoids the problem.");
  }
  bad.reasons.push_back(fmt::format(
      "Known from: {}.",
      fmt::join(knowledge::full_sources(subject.tables, match.advisory->origin), "; ")));
  bad.evidence.push_back(show(subject, failure, logs::describe(failure)));
  bad.evidence.insert(bad.evidence.end(), match.evidence.begin(), match.evidence.end());
  bad.fix = sentences(match.advisory->to_do);
  bad.alternatives.push_back(
      {"gpu-hang", 0.15, "boot as the fix says, and see whether it hangs again"});
  return bad;
}

// Whether firmware that hangs the scheduler would do so on this kernel with these options.
bool may_hang(const LogSubject& subject) {
  for (const knowledge::Advisory& row : subject.tables.advisories.rows) {
    if (!row.firmware || row.effect != knowledge::Effect::unstable) continue;
    const auto matches = match_advisories(subject, "firmware", &*row.firmware);
    if (!matches.empty()) return true;
  }
  return false;
}

// The log does not name the firmware, but this chip is known for bad firmware, and its scheduler
// stopped.
std::optional<Hypothesis> find_by_chip(const LogSubject& subject, const CrashSigns& signs) {
  const bool scheduler = subject.log.seen("mes-timeout");
  const bool unknown_chip = subject.scene.gpus.empty();
  const bool known_for_it = has_advisories(subject, "firmware");
  if (subject.log.seen("mes-firmware") || !(known_for_it || unknown_chip)) return std::nullopt;
  const logs::Observation* package = subject.log.first("firmware-package");
  const bool bad_package = package != nullptr && package->value("date") == "20251125";
  if (!bad_package && unknown_chip) return std::nullopt;
  if (!bad_package && !scheduler) return std::nullopt;
  Hypothesis bad;
  bad.confidence = bad_package ? (unknown_chip ? 0.7 : 0.8) : may_hang(subject) ? 0.55 : 0.4;
  bad.title =
      bad_package
          ? fmt::format("linux-firmware 20251125 is known to break compute on {}",
                        gpu_of(subject.scene))
          : fmt::format(
                "The scheduler firmware of {} hangs, as several of its versions are known to do",
                gpu_of(subject.scene));
  bad.reasons.emplace_back(bad_package ? "It contained MES 0x83, which AMD withdrew."
                                       : "The log does not show the firmware version. This is the "
                                         "usual cause on this chip, but it is not proven.");
  bad.evidence.push_back(show(subject, *signs.of_gpu(), logs::describe(*signs.of_gpu())));
  if (bad_package) bad.evidence.push_back(show(subject, *package));
  bad.fix = {
      sentence(
          "See which firmware runs: sudo grep MES /sys/kernel/debug/dri/*/amdgpu_firmware_info"),
      sentence("For MES 0x83: update linux-firmware to a release after 20251125, rebuild the "
               "initramfs, and reboot."),
      sentence("For MES 0x80: boot Linux 6.18 or later. Until then, add amdgpu.cwsr_enable=0 to "
               "the kernel command line.")};
  bad.alternatives.push_back(
      {"gpu-hang", 0.4, "sudo grep MES /sys/kernel/debug/dri/*/amdgpu_firmware_info; uname -r"});
  return bad;
}

// Chips on which saving compute waves (CWSR) hangs the scheduler firmware whatever its version, as
// many report and amdgpu.cwsr_enable=0 ends: legacy#6386, legacy#6512, legacy#6658, with Linux 6.18
// and 7.0 and linux-firmware of June 2026.
constexpr std::string_view chips_with_cwsr_hangs[] = {"gfx1103"};

std::optional<Hypothesis> find_wave_saving(const LogSubject& subject, const CrashSigns& signs) {
  const facts::ModuleOption* option = subject.scene.machine.option("amdgpu", "cwsr_enable");
  if (option != nullptr && option->value == "0") return std::nullopt;
  // The firmware itself stops, over a queue of a compute job; a ring that stood still before it is
  // another story.
  const logs::Observation* silent = subject.log.first("mes-timeout");
  const logs::Observation* queue = subject.log.first("queue-not-removed");
  if (silent == nullptr || queue == nullptr) return std::nullopt;
  if (signs.stopped != nullptr && is_before(*signs.stopped, *silent)) return std::nullopt;
  const std::string gfx = subject.scene.gfx();
  if (std::find(std::begin(chips_with_cwsr_hangs), std::end(chips_with_cwsr_hangs), gfx) ==
      std::end(chips_with_cwsr_hangs)) {
    return std::nullopt;
  }
  Hypothesis bad;
  bad.confidence = 0.6;
  bad.title = fmt::format("The scheduler firmware of {} hangs while it saves a job's waves",
                          gpu_of(subject.scene));
  bad.reasons = {
      "Where the driver takes a queue away, the firmware has to save the waves that run in it "
      "(CWSR). On this chip it is known to stop there, with firmware as new as that of June 2026.",
      "The log does not show what the firmware was doing, so this is not proven."};
  bad.evidence = {show(subject, *silent, logs::describe(*silent)),
                  show(subject, *queue, logs::describe(*queue))};
  bad.fix = {sentence("Add amdgpu.cwsr_enable=0 to the kernel command line, and reboot. A long job "
                      "then keeps the GPU from others until it ends."),
             look("cat /sys/module/amdgpu/parameters/cwsr_enable", "(must print 0 then)")};
  bad.alternatives = {{"gpu-hang", 0.35, "the same job with amdgpu.cwsr_enable=0"}};
  return bad;
}

// The kernel takes a firmware file from updates/ before the distribution's own, and AMD's package
// of drivers puts its files there. They stay when the distribution's are mended.
std::optional<Hypothesis> find_shadowed(const LogSubject& subject, const CrashSigns& signs) {
  const logs::Observation* shadow = subject.log.first("firmware-shadowed");
  if (shadow == nullptr || (signs.scheduler == nullptr && signs.stopped == nullptr)) {
    return std::nullopt;
  }
  const logs::Observation& stopped = signs.scheduler != nullptr ? *signs.scheduler : *signs.stopped;
  Hypothesis bad;
  bad.confidence = signs.scheduler != nullptr ? 0.75 : 0.6;
  bad.title = "The GPU runs firmware of a driver package, not the distribution's";
  bad.reasons = {
      "The kernel looks for firmware under /lib/firmware/updates first. Files that "
      "amdgpu-dkms-firmware left there hide those of linux-firmware, however new these are.",
      "What stopped is the part of the GPU that this firmware runs."};
  bad.evidence = {show(subject, stopped, logs::describe(stopped)),
                  show(subject, *shadow, logs::describe(*shadow))};
  bad.fix = {sentence_with("See which file is older",
                           "ls -l /lib/firmware/updates/amdgpu | head; "
                           "ls -l /lib/firmware/amdgpu | head"),
             command("sudo apt purge amdgpu-dkms-firmware",
                     "(or, if the driver package is needed, install its newest release)"),
             command("sudo update-initramfs -u", "(it contains a copy; then reboot)"),
             look("sudo cat /sys/kernel/debug/dri/*/amdgpu_firmware_info | grep -E 'MES|MEC|SMC'",
                  "(the versions that run)")};
  bad.alternatives.push_back(
      {"gpu-hang", 0.25, "sudo grep MES /sys/kernel/debug/dri/*/amdgpu_firmware_info; uname -r"});
  return bad;
}

// The driver gave up because a firmware file is missing.
std::optional<Hypothesis> find_missing_file(const LogSubject& subject) {
  const logs::Observation* file = subject.log.first("firmware-load-failed");
  const logs::Observation* failed = subject.log.first("driver-gave-up");
  if (file == nullptr || failed == nullptr) return std::nullopt;
  std::string_view name = file->value("file");
  if (name.empty()) name = file->value("also");
  Hypothesis missing;
  missing.confidence = 0.7;
  missing.title = name.empty() ? "The GPU's firmware could not be loaded, so the driver gave up"
                               : fmt::format("The driver did not find the firmware file {}", name);
  missing.reasons.emplace_back(
      "The installed linux-firmware is older than the GPU, or the initramfs does not contain its "
      "files.");
  missing.evidence = {show(subject, *file), show(subject, *failed)};
  missing.fix = {sentence("Update linux-firmware (Debian, Ubuntu: sudo apt install --only-upgrade "
                          "linux-firmware)."),
                 sentence("Rebuild the initramfs, which contains a copy, and reboot.")};
  missing.alternatives.push_back(
      {"driver-not-loaded", 0.3, "lsmod | grep amdgpu; sudo dmesg | grep -i amdgpu"});
  return missing;
}

// The GPU's security processor checks what the driver gives it, and refuses a file whose signature
// is not of this chip, or that was damaged (linux: amdgpu_psp.c). After a reset it may refuse any.
std::optional<Hypothesis> find_refused(const LogSubject& subject) {
  const logs::Observation* refused = subject.log.first("firmware-refused");
  if (refused == nullptr) return std::nullopt;
  const logs::Observation* reset =
      subject.log.first_of({"gpu-reset", "ring-timeout", "device-lost"});
  const bool after_reset = reset != nullptr && is_before(*reset, *refused);
  std::string_view block;
  for (const logs::Observation* one : subject.log.of("firmware-refused")) {
    if (block.empty()) block = one->value("block");
  }
  Hypothesis bad;
  bad.confidence = after_reset ? 0.3 : 0.72;
  bad.title = fmt::format("The GPU's security processor refuses the firmware{}",
                          block.empty() ? std::string() : fmt::format(" of {}", block));
  bad.reasons = {
      "The driver found the file and handed it over, and the chip did not start it. So the file "
      "is not the right one for this chip, or is broken. What it drives stays off: DMCUB is the "
      "display's controller, SDMA and MEC are copies and compute.",
      "Such files come with linux-firmware, and every update may change them."};
  for (const logs::Observation* one : subject.log.of("firmware-refused")) {
    if (bad.evidence.size() < 3) bad.evidence.push_back(show(subject, *one, logs::describe(*one)));
  }
  if (const logs::Observation* package = subject.log.first("firmware-package")) {
    bad.evidence.push_back(show(subject, *package, "the package that brings it"));
  }
  bad.fix = {sentence("Go back to the release of linux-firmware (amd-gpu-firmware, "
                      "linux-firmware-amdgpu) before the last update, rebuild the initramfs, and "
                      "reboot."),
             sentence("Or update it, if there is a newer one: a bad file is soon replaced."),
             sentence("See what was changed: grep -i firmware /var/log/pacman.log "
                      "/var/log/apt/history.log; rpm -qa --last | grep -i firmware")};
  bad.alternatives = {{"kernel-too-old", 0.2, "the same firmware with another kernel"}};
  return bad;
}

std::optional<Hypothesis> find_any(const LogSubject& subject) {
  const CrashSigns signs = find_crash_signs(subject.log);
  if (signs.of_gpu() != nullptr) {
    if (auto known = find_known(subject, signs, *signs.of_gpu())) return known;
    if (auto shadowed = find_shadowed(subject, signs)) return shadowed;
    if (auto usual = find_by_chip(subject, signs)) return usual;
    if (auto saving = find_wave_saving(subject, signs)) return saving;
  } else if (const auto* died = subject.log.first("gpu-crash");
             died != nullptr && subject.log.seen("mes-firmware")) {
    // A person tells in own words that it faults or hangs.
    if (auto known = find_known(subject, signs, *died)) return known;
  }
  if (auto refused = find_refused(subject)) return refused;
  return find_missing_file(subject);
}

// Who tells that another kernel ended it, and changed no firmware, has shown that the kernel
// decides.
std::optional<Hypothesis> find(const LogSubject& subject) {
  auto bad = find_any(subject);
  const Story kernel = story_of(subject, "kernel-too-old");
  const Story firmware = story_of(subject, "firmware-bad");
  if (bad && kernel.confidence > 0 && firmware.confidence <= 0) {
    constexpr double keeps = 0.5;
    speak_against(*bad, keeps,
                  show(subject, *kernel.told.told, "another kernel is said to have fixed it"));
  }
  return bad;
}

}  // namespace

constinit const CauseRule firmware_bad_cause = {
    .id = "firmware-bad",
    .meaning = "The GPU's firmware is known to hang or fault, or could not be loaded.",
    .why =
        "Firmware comes with the distribution and may change with any update. A bad version causes "
        "memory access faults and hangs that look like broken hardware or a broken framework.",
    .fix =
        "Read the version under /sys/kernel/debug/dri. Update linux-firmware, or go back to the "
        "previous package. Rebuild the initramfs, and reboot.",
    .explains = "gpu-hang crash-loop framework-bug rocm-regression collective-hang",
    .find = find,
};

}  // namespace headroom::findings
