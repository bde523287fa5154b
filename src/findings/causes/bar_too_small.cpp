// SPDX-License-Identifier: Apache-2.0
// bar-too-small: the firmware or the virtual machine leaves no room for the card's memory windows
// (BARs), so amdgpu cannot map its registers and gives up, usually with -12 (ENOMEM). A card whose
// window is merely small works, only slower, and is no case of this.
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <string>

#include "base/bytes.h"
#include "base/text.h"
#include "findings/causes/causes.h"

namespace headroom::findings {
namespace {

using logs::Observation;

std::string_view address_of(const Observation& line) {
  for (const std::string_view key : {"pci", "pci2", "pci3"}) {
    if (!line.value(key).empty()) return line.value(key);
  }
  return {};
}

// Returns the line that says that a window of the card whose start failed got no room; nullptr if
// there is none. If the address of the failed card is not known, any device's line will do.
const Observation* unassigned_window(const logs::Observations& log, std::string_view card) {
  for (const Observation* line : log.of("bar-unassigned")) {
    const std::string_view address = address_of(*line);
    if (card.empty() || address.empty() || address == card) return line;
  }
  return nullptr;
}

std::string size_of(const Observation& line) {
  for (const std::string_view key : {"size", "size2"}) {
    const auto bytes = parse_hex(line.value(key));
    if (bytes && *bytes > 0) return to_string(Bytes{*bytes});
  }
  return "";
}

void advise(const LogSubject& subject, Hypothesis& bar) {
  if (subject.log.seen("virtual-machine-words")) {
    bar.fix = {
        sentence("Give the virtual machine a large 64-bit window: UEFI (OVMF) with q35, and for "
                 "QEMU -fw_cfg name=opt/ovmf/X-PciMmio64Mb,string=65536; for Hyper-V "
                 "Set-VM -HighMemoryMappedIoSpace 64GB"),
        sentence("Also switch on Above 4G Decoding in the BIOS of its host.")};
  } else {
    bar.fix = {
        sentence(
            "In the BIOS, switch on Above 4G Decoding, and Resizable BAR (Re-Size BAR) if it is "
            "there. Switch CSM (legacy boot) off. Update the BIOS if it has neither option."),
        sentence("Or let Linux assign the windows again: add pci=realloc to the kernel command "
                 "line, and reboot.")};
  }
  bar.fix.push_back(
      command("sudo dmesg | grep -E 'BAR [0-9]+'", "(must not say \"no space\" any more)"));
}

// The log does not say how amdgpu fared with a card whose window got no room.
std::optional<Hypothesis> find_window_alone(const LogSubject& subject) {
  for (const Observation* window : subject.log.of("bar-unassigned")) {
    if (window->text.find("amdgpu") == std::string::npos) continue;
    // Where a larger window finds no room, the kernel goes back to the one that there was.
    if (subject.log.any_of({"bar-assigned", "amdgpu-initialized"})) continue;
    Hypothesis bar;
    bar.confidence = 0.6;
    const std::string size = size_of(*window);
    bar.title = fmt::format("There is no address space for the card's memory window{}",
                            size.empty() ? "" : fmt::format(" of {}", size));
    bar.reasons.emplace_back("amdgpu cannot start a card if it cannot map the card's memory.");
    bar.evidence = {show(subject, *window, "the kernel found no address range for it")};
    advise(subject, bar);
    return bar;
  }
  return std::nullopt;
}

// The largest window in lshw's list of a device's resources.
Bytes largest_window(const Observation& listed) {
  static const RE2 range(R"(\bmemory:([0-9a-f]+)-([0-9a-f]+))");
  re2::StringPiece rest(listed.text);
  std::string first, last;
  std::uint64_t largest = 0;
  while (RE2::FindAndConsume(&rest, range, &first, &last)) {
    const auto from = parse_hex(first), to = parse_hex(last);
    if (from && to && *to >= *from) largest = std::max(largest, *to - *from + 1);
  }
  return Bytes{largest};
}

// amdgpu has the card, and among the card's windows there is none for its memory: the firmware
// assigned the small ones alone (of doorbells and registers), as behind Thunderbolt or with CSM.
// The registers then read as all ones, so that the driver takes the card for a virtual function and
// waits for a host that is not there (Linux: mxgpu_ai.c).
std::optional<Hypothesis> find_window_left_out(const LogSubject& subject) {
  constexpr Bytes least_for_memory = 64_MiB;
  constexpr std::uint64_t lines_of_a_device = 4;
  const Observation* bound = subject.log.first("lshw-driver");
  const Observation* windows = nullptr;
  for (const Observation* one : subject.log.of("lshw-windows")) {
    const bool of_card = bound != nullptr && bound->value("driver") == "amdgpu" &&
                         one->log == bound->log && one->line > bound->line &&
                         one->line - bound->line <= lines_of_a_device;
    if (of_card && largest_window(*one) < least_for_memory) windows = one;
  }
  if (windows == nullptr) return std::nullopt;
  const Observation* failed = subject.log.first_of(
      {"amdgpu-mailbox", "no-gpu-seen", "rocminfo-failed", "kfd-refuses-process"});
  Hypothesis bar;
  bar.confidence = failed != nullptr ? 0.8 : 0.5;
  bar.title = fmt::format("The card has no window for its memory: its largest one has {}",
                          to_string(largest_window(*windows)));
  bar.reasons.emplace_back(
      "A card's memory is reached through a window of 256 MiB or more. The firmware assigned the "
      "small windows alone, so the driver cannot start the card.");
  bar.evidence = {show(subject, *windows, "all windows that it has")};
  if (failed != nullptr) bar.evidence.push_back(show(subject, *failed));
  advise(subject, bar);
  bar.alternatives = {{"hw-error", 0.15, "the card in a slot of another machine"}};
  return bar;
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  if (auto left_out = find_window_left_out(subject)) return left_out;
  const logs::Observations& log = subject.log;
  const Observation* no_memory = log.first("gpu-init-enomem");
  const Observation* failed = no_memory != nullptr ? no_memory : log.first("gpu-init-failed");
  if (failed == nullptr) return find_window_alone(subject);
  // A firmware file that is missing explains the failure by itself.
  if (log.seen("gpu-firmware-missing")) return std::nullopt;
  std::string_view card = address_of(*failed);
  for (const Observation* line : log.of("gpu-init-enomem")) {
    if (card.empty()) card = address_of(*line);
  }
  const Observation* window = unassigned_window(log, card);
  const Observation* resize = log.first("bar-resize-failed");
  Hypothesis bar;
  if (window != nullptr) {
    bar.confidence = 0.93;
    const std::string size = size_of(*window);
    bar.title = fmt::format(
        "There is no address space for the card's memory window{}: amdgpu cannot map it",
        size.empty() ? "" : fmt::format(" of {}", size));
    bar.evidence = {show(subject, *window, "the kernel found no address range for it"),
                    show(subject, *failed)};
  } else if (no_memory == nullptr && resize != nullptr) {
    bar.confidence = 0.65;
    bar.title = "amdgpu could not resize the card's memory window, and gave the card up";
    bar.evidence = {show(subject, *resize), show(subject, *failed)};
    bar.alternatives = {
        {"driver-not-loaded", 0.2, "sudo dmesg | grep -E 'BAR [0-9]+|amdgpu' | head -40"},
        {"hw-error", 0.1, "sudo dmesg | grep -iE 'psp|vbios|pcie.*error'"}};
  } else if (no_memory != nullptr) {
    bar.confidence = resize != nullptr ? 0.75 : 0.6;
    bar.title =
        "amdgpu cannot map the card (-12): most likely its memory windows got no address space";
    bar.evidence = {show(subject, *no_memory, "-12 is ENOMEM: mapping the registers failed")};
    if (resize != nullptr) bar.evidence.push_back(show(subject, *resize));
    bar.alternatives = {
        {"driver-not-loaded", 0.2, "sudo dmesg | grep -E 'BAR [0-9]+|amdgpu' | head -40"},
        {"hw-error", 0.1, "sudo dmesg | grep -iE 'psp|vbios|pcie.*error'"}};
  } else {
    return std::nullopt;
  }
  bar.reasons.emplace_back(
      "A card's registers and memory are reached through windows in the address space (BARs), "
      "which the firmware assigns. Below 4 GiB there is too little space for a modern card.");
  advise(subject, bar);
  return bar;
}

}  // namespace

constinit const CauseRule bar_too_small_cause = {
    .id = "bar-too-small",
    .meaning =
        "The driver cannot map the card: there is no address space for its memory windows (BARs).",
    .why =
        "Above 4G Decoding or Resizable BAR is off in the BIOS, or a virtual machine's 64-bit "
        "window is too small. amdgpu then gives the card up, often with error -12, and ROCm cannot "
        "use it.",
    .fix = "Switch both on in the BIOS. Give a virtual machine a large 64-bit window.",
    .explains =
        "driver-not-loaded device-permission host-without-kfd kfd-not-passed gpu-unsupported "
        "kernel-too-old firmware-bad hw-error missing-library framework-bug",
    .find = find,
};

}  // namespace headroom::findings
