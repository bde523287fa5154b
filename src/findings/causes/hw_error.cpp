// SPDX-License-Identifier: Apache-2.0
// hw-error: the hardware itself reports an error that it could not correct: RAS of the GPU, machine
// checks of the processor, the PCIe link. Software does not cause these lines.
#include <fmt/format.h>

#include <algorithm>

#include "findings/causes/causes.h"
#include "findings/causes/crash_signs.h"
#include "logs/describe.h"
#include "logs/sentence.h"

namespace headroom::findings {
namespace {

using logs::Observation;

struct Sign {
  const Observation* line = nullptr;
  double confidence = 0;
  std::string title;
};

const Observation* ecc_exception(const logs::Observations& log) {
  for (const Observation* one : log.of("hw-exception")) {
    if (one->value("reason").find("ECC") != std::string_view::npos) return one;
  }
  return nullptr;
}

// Finds a card that always fails where other cards of the same chip run the same program. The code
// is that of the target, so that neither the program nor ROCm's libraries tell them apart.
Sign one_card_of_its_chip(const LogSubject& subject) {
  const Observation* fault = find_crash_signs(subject.log).of_gpu();
  const std::string gfx = subject.scene.gfx();
  if (fault == nullptr || gfx.empty() || subject.scene.gpus.size() != 1) return {};
  const SceneGpu& failing = subject.scene.gpus.front();
  for (const Observation* told : subject.log.of("works-on-cards")) {
    const auto cards = gpus_of_text(told->value("cards"), subject.tables);
    const bool same_chip = !cards.empty() && std::all_of(cards.begin(), cards.end(),
                                                         [&](auto& one) { return one.gfx == gfx; });
    if (!same_chip || !logs::is_sentence(told->text)) continue;
    if (cards.front().name == failing.name) continue;
    return {told, confidence::possible,
            fmt::format("The card fails where others of its chip ({}) run the same program", gfx)};
  }
  return {};
}

// Finds a link of the network that goes up and down, or stays down, between asking and asking.
Sign unsteady_link(const logs::Observations& log) {
  for (const Observation* down : log.of("rdma-link")) {
    if (down->value("state") != "DOWN") continue;
    const std::string_view port = down->value("port");
    const auto links = log.of("rdma-link");
    const bool comes_back = std::any_of(links.begin(), links.end(), [&](const Observation* one) {
      return one->value("port") == port && one->value("state") == "ACTIVE";
    });
    return {down, comes_back ? 0.65 : 0.3,
            fmt::format("The network's link {} {}", port,
                        comes_back ? "goes down and comes back" : "is down")};
  }
  return {};
}

Sign strongest(const LogSubject& subject) {
  const logs::Observations& log = subject.log;
  const std::string gpu = gpu_of(subject.scene);
  // Other devices are on the bus too; if the GPU stops as well, it is likely the GPU's link.
  const bool of_gpu = find_crash_signs(log).of_gpu() != nullptr || log.seen("driver-gave-up");
  if (const auto* line = log.first("ras-uncorrectable")) {
    const std::string event(line->value("event"));
    return {line, confidence::proven,
            fmt::format("{} reports an uncorrectable hardware error{}", gpu_at_start(subject.scene),
                        event.empty() ? "" : " (" + event + ")")};
  }
  if (const auto* line = ecc_exception(log)) {
    return {line, confidence::proven, fmt::format("The memory of {} has a defect (ECC)", gpu)};
  }
  if (const auto* line = log.first("gpu-bad-pages")) {
    return {line, 0.85, fmt::format("Parts of the memory of {} are defective", gpu)};
  }
  if (const auto* line = log.first("gpu-off-bus")) {
    return {line, confidence::likely,
            fmt::format("{} no longer answers on the PCIe bus", gpu_at_start(subject.scene))};
  }
  if (const auto* line = log.first("vbios-stuck")) {
    return {line, 0.6,
            fmt::format("{} cannot be started by its own BIOS", gpu_at_start(subject.scene))};
  }
  if (const auto* line = log.first("pcie-uncorrected")) {
    std::string_view kind = line->value("kind");
    if (kind.empty()) kind = line->value("other");
    const bool mild = kind == "Non-Fatal" || kind == "NonFatal";
    return {line,
            mild     ? 0.6
            : of_gpu ? confidence::likely
                     : 0.65,
            "The PCIe link lost data that could not be resent"};
  }
  if (const auto* line = log.first("machine-check")) {
    return {line, of_gpu ? confidence::likely : 0.7,
            "The processor or its memory reports an uncorrectable error"};
  }
  if (const auto* line = log.first("gpu-too-hot")) {
    const Observation* stops = nullptr;
    for (const Observation* one : log.of("gpu-too-hot")) {
      if (!one->value("stops").empty()) stops = one;
    }
    return {stops != nullptr ? stops : line, stops != nullptr ? 0.75 : confidence::possible,
            fmt::format("{} is too hot", gpu)};
  }
  // No software switches a machine off; what it draws at its peaks, or its heat, does.
  if (const auto* off = log.first("said-to-switch-off"); off && log.seen("power-supply-told")) {
    return {off, 0.4, "The machine switches off under load, which is a matter of its power supply"};
  }
  if (Sign link = unsteady_link(log); link.line != nullptr) return link;
  return one_card_of_its_chip(subject);
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  Sign sign = strongest(subject);
  if (sign.line == nullptr) return std::nullopt;
  Hypothesis broken;
  broken.confidence = sign.confidence;
  broken.title = std::move(sign.title);
  const std::string_view id = sign.line->id();
  broken.reasons.emplace_back(
      id == "vbios-stuck"
          ? "The program in the card's BIOS waits for the card's own circuits, and they do not "
            "answer. Slot, riser and power are cheaper to rule out than the card."
      : id == "rdma-link"
          ? "A collective over several machines waits for each of its links. Cable, transceiver, "
            "switch port or adapter are at fault, not the GPU."
      : id == "said-to-switch-off" ? "A card draws far more for a moment than its power limit "
                                     "says. A supply that is too weak "
                                     "for that switches off, and nothing can be logged."
      : id == "works-on-cards"
          ? "Cards of one chip run the same code. What remains is the card itself, its slot, its "
            "power and its firmware."
          : "The hardware's own error reporting says so. Later resets and crashes follow from it.");
  broken.evidence.push_back(show(subject, *sign.line, logs::describe(*sign.line)));
  show_some(subject,
            {"ras-uncorrectable", "gpu-bad-pages", "gpu-off-bus", "pcie-uncorrected",
             "machine-check", "gpu-reset"},
            4, broken);
  broken.fix = {
      sentence(
          "Read the error counters: for f in /sys/class/drm/card*/device/ras/*_err_count; do echo "
          "$f; cat $f; done"),
      sentence("Switch off, take the card out and put it back in. Try another slot without a "
               "riser, and another power cable."),
      sentence("Try the card in another machine, and another card in this slot. An error that "
               "follows the card is the card's. One that stays with the slot comes from the board "
               "or the power supply.")};
  if (sign.line->id() == "gpu-too-hot") {
    broken.fix = {sentence("Watch temperature and fans while the job runs: watch -n1 rocm-smi "
                           "--showtemp --showfan"),
                  sentence("Clean the cooler and the case's air path. Raise the fan curve, or "
                           "lower the power limit: sudo rocm-smi --setpoweroverdrive WATTS")};
  }
  if (id == "said-to-switch-off") {
    broken.fix = {
        sentence_with("Lower the power limit and see whether it stays on",
                      "sudo rocm-smi --setpoweroverdrive WATTS"),
        sentence("Compare the power supply with what the card's maker asks for. Give each of the "
                 "card's sockets a cable of its own.")};
  }
  if (id == "rdma-link") {
    broken.fix = {look("rdma link; ibstat", "(every port that the job uses must stay ACTIVE)"),
                  sentence(fmt::format(
                      "Leave the port out until it is mended: NCCL_IB_HCA=^{}",
                      sign.line->value("port").substr(0, sign.line->value("port").find('/')))),
                  sentence("Exchange cable or port, or ask who runs the machines.")};
    broken.alternatives = {{"collective-hang", 0.3, "the same job without this port"}};
    return broken;
  }
  broken.alternatives.push_back(
      {"gpu-hang", 0.1, "see whether the error comes back without any job: sudo dmesg -w"});
  return broken;
}

}  // namespace

constinit const CauseRule hw_error_cause = {
    .id = "hw-error",
    .meaning = "The GPU, its link, the processor or the memory reports an uncorrectable error.",
    .why =
        "The hardware itself does RAS, machine checks and PCIe error reporting. After an "
        "uncorrectable error, results cannot be trusted, and the driver resets the GPU.",
    .fix =
        "Check seating, riser, power and cooling. Then swap card and slot to find out which of "
        "them it is.",
    .explains =
        "gpu-hang crash-loop framework-bug rocm-regression collective-hang driver-not-loaded "
        "vram-orphaned firmware-bad rccl-p2p",
    .find = find,
};

}  // namespace headroom::findings
