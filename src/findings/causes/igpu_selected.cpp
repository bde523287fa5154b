// SPDX-License-Identifier: Apache-2.0
// igpu-selected: an integrated GPU beside a discrete one. Programs count it as a device; libraries
// without code for it fail, sometimes although the other device was chosen.
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>

#include "base/text.h"
#include "findings/causes/access.h"
#include "findings/causes/causes.h"

namespace headroom::findings {
namespace {

using logs::Observation;

struct Devices {
  const Observation* integrated = nullptr;  // Lines that give their index.
  const Observation* discrete = nullptr;
};

Devices listed_devices(const LogSubject& subject, const SceneGpu& integrated) {
  Devices devices;
  for (const std::string_view id : {"torch-device", "ggml-device", "ollama-device"}) {
    for (const Observation* one : subject.log.of(id)) {
      const bool its = one->value("gfx") == integrated.gfx;
      const Observation*& place = its ? devices.integrated : devices.discrete;
      if (place == nullptr) place = one;
    }
  }
  return devices;
}

std::string failing_target(const LogSubject& subject) {
  for (const Observation* one : subject.log.of("kernel-image-refused")) {
    for (const std::string_view key : {"failing", "failing_file"}) {
      if (!one->value(key).empty()) return std::string(one->value(key));
    }
  }
  const Observation* ollama = subject.log.first("ollama-gpu-unsupported");
  return ollama != nullptr ? std::string(ollama->value("gfx")) : "";
}

// A mask that leaves one device, and not the integrated one.
bool masked(const LogSubject& subject, const Devices& devices) {
  const std::string_view index =
      devices.integrated != nullptr ? devices.integrated->value("index") : "0";
  for (const Observation* mask : subject.log.of("visible-devices")) {
    const std::string_view left = trim(mask->value("devices"));
    if (!left.empty() && left.find(index) == std::string_view::npos) return true;
  }
  return false;
}

void advise(const LogSubject& subject, const Devices& devices, Hypothesis& pick) {
  const std::string index(devices.discrete != nullptr ? devices.discrete->value("index") : "");
  const bool windows = platform_of(subject).platform == Platform::windows;
  if (index.empty()) {
    pick.fix.emplace_back(
        "which number the card has: rocminfo | grep -E 'Marketing|gfx'   (count "
        "the GPUs from 0)");
  }
  const std::string number = index.empty() ? "N" : index;
  pick.fix.push_back(windows ? fmt::format("$env:HIP_VISIBLE_DEVICES=\"{}\"   (cmd: set "
                                           "HIP_VISIBLE_DEVICES={})",
                                           number, number)
                             : "export HIP_VISIBLE_DEVICES=" + number);
  if (!windows) {
    pick.fix.emplace_back("a service: Environment=HIP_VISIBLE_DEVICES=" + number +
                          " in its unit; a container: -e HIP_VISIBLE_DEVICES=" + number);
  }
  pick.fix.emplace_back("the card is device 0 for the job then");
  pick.fix.emplace_back("for good: switch the integrated graphics off in the BIOS");
}

// Ryzen 7000 and 9000 for desktops carry a small GPU, except where the name ends in F.
std::optional<SceneGpu> implied_by_processor(const Scene& scene) {
  static const RE2 desktop(R"(Ryzen(?:\(TM\))? [3579] (?:PRO )?[79]\d[05]0(?:X3D|X)?\b)");
  if (!scene.cpu || !RE2::PartialMatch(*scene.cpu, desktop)) return std::nullopt;
  return SceneGpu{"gfx1036", *scene.cpu, true, {}, {}, scene.cpu.source()};
}

// PyTorch's wheels have code for the card, so that code being missing points elsewhere.
bool card_is_in_wheels(const LogSubject& subject, const SceneGpu& discrete) {
  const knowledge::Target* target = subject.tables.target(discrete.gfx);
  return target != nullptr && target->torch == knowledge::TorchWheels::current;
}

// The integrated GPU is the one that the program uses.
bool is_in_use(const LogSubject& subject, const SceneGpu& integrated, const Devices& devices) {
  if (devices.integrated != nullptr && devices.integrated->value("index") == "0") return true;
  const Observation* used = subject.log.last("torch-arch");
  return used != nullptr && used->value("gfx") == integrated.gfx &&
         used->text.find("AMD arch") != std::string::npos;
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  const Scene& scene = subject.scene;
  const SceneGpu* discrete = scene.discrete_gpu();
  const std::optional<SceneGpu> implied = implied_by_processor(scene);
  const bool guessed = scene.integrated_gpu() == nullptr;
  const SceneGpu* integrated = guessed && implied ? &*implied : scene.integrated_gpu();
  if (integrated == nullptr || discrete == nullptr) return std::nullopt;
  const Observation* image = subject.log.first("kernel-image-refused");
  const Observation* crash = subject.log.first("gpu-crash");
  const Observation* tiny = subject.log.first("torch-tiny-gpu");
  const Devices devices = listed_devices(subject, *integrated);
  const std::string failing = failing_target(subject);
  if ((image == nullptr && crash == nullptr && tiny == nullptr) || masked(subject, devices))
    return std::nullopt;
  // The card itself lacks code: another cause.
  if (!failing.empty() && failing != integrated->gfx) return std::nullopt;
  Hypothesis pick;
  const bool first = is_in_use(subject, *integrated, devices);
  if (tiny != nullptr) {
    pick.confidence = guessed ? 0.7 : 0.85;
    pick.reasons.emplace_back(
        "The device in use has less than 1 GiB: an integrated GPU's share, and no card's memory.");
  } else if (image != nullptr && !failing.empty()) {
    pick.confidence = 0.92;
    pick.reasons.push_back(fmt::format(
        "What fails is code for {}, the integrated GPU; the card is {}.", failing, discrete->gfx));
  } else if (image != nullptr) {
    pick.confidence = first ? 0.85 : card_is_in_wheels(subject, *discrete) ? 0.7 : 0.4;
    if (guessed) pick.confidence = std::min(pick.confidence, 0.5);
    pick.reasons.emplace_back(
        "A build for one family of cards has no code for the integrated GPU; where a process sees "
        "both, loading it fails, also when the card was chosen by its index.");
  } else {
    pick.confidence = guessed ? 0.1 : first ? 0.55 : 0.3;
    pick.reasons.emplace_back(
        "Where both are visible, work that lands on the integrated GPU dies there.");
  }
  if (first) pick.reasons.emplace_back("The integrated GPU is the one taken by default.");
  pick.title =
      fmt::format("The integrated GPU ({}) is in the way of the {}", integrated->gfx,
                  discrete->name.empty() ? discrete->gfx
                                         : fmt::format("{} ({})", discrete->name, discrete->gfx));
  pick.evidence.push_back(show(subject, tiny != nullptr    ? *tiny
                                        : image != nullptr ? *image
                                                           : *crash));
  for (const Observation* line : {devices.integrated, devices.discrete}) {
    if (line != nullptr) pick.evidence.push_back(show(subject, *line, "a device that it counts"));
  }
  if (devices.integrated == nullptr) {
    pick.evidence.push_back({integrated->source.path, integrated->source.line,
                             integrated->source.text, "an integrated GPU is there"});
  }
  advise(subject, devices, pick);
  pick.alternatives.push_back(
      {"gfx-target-missing", 0.25,
       "the same job with the integrated GPU hidden: HIP_VISIBLE_DEVICES=…"});
  return pick;
}

}  // namespace

constinit const CauseRule igpu_selected_cause = {
    .id = "igpu-selected",
    .meaning = "An integrated GPU beside the card is picked, or its mere presence breaks the job.",
    .why =
        "Most Ryzen desktop processors carry a small GPU. ROCm counts it, sometimes first, and "
        "libraries that were not built for it fail as soon as they touch it.",
    .fix = "Hide it with HIP_VISIBLE_DEVICES, or switch it off in the BIOS.",
    .explains =
        "gfx-target-missing gfx-target-dropped gpu-hang crash-loop framework-bug gpu-unsupported "
        "gfx-override-wrong managed-memory job-too-big uma-carveout-small",
    .find = find,
};

}  // namespace headroom::findings
