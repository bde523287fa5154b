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
  const Observation* integrated = nullptr;  // Lines that tell its index.
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

// Whether a mask leaves the integrated GPU out.
bool leaves_out(const Observation& mask, const Devices& devices) {
  const std::string_view index =
      devices.integrated != nullptr ? devices.integrated->value("index") : "0";
  const std::string_view left = trim(mask.value("devices"));
  return !left.empty() && left.find(index) == std::string_view::npos;
}

bool is_behind(const Observation& one, const Observation& other) {
  return one.log == other.log && one.line > other.line;
}

// Whether such a mask was in force at the failure, which rules the integrated GPU out.
bool masked(const LogSubject& subject, const Devices& devices, const Observation& failure) {
  for (const Observation* mask : subject.log.of("visible-devices")) {
    if (leaves_out(*mask, devices) && !is_behind(*mask, failure)) return true;
  }
  return false;
}

// Finds such a mask that was set after the failure, if the job then did its work.
const Observation* cure(const LogSubject& subject, const Devices& devices,
                        const Observation& failure) {
  for (const Observation* mask : subject.log.of("visible-devices")) {
    if (!leaves_out(*mask, devices) || !is_behind(*mask, failure)) continue;
    bool works = false;
    for (const Observation& one : subject.log.all()) {
      if (!is_behind(one, *mask)) continue;
      if (one.signature->role == knowledge::Role::failure) return nullptr;
      works = works || one.signature->role == knowledge::Role::progress;
    }
    if (works) return mask;
  }
  return nullptr;
}

// Whether the same failure came again behind a mask that leaves the integrated GPU out.
bool fails_without_it(const LogSubject& subject, const Devices& devices,
                      const Observation& failure) {
  for (const Observation* mask : subject.log.of("visible-devices")) {
    if (!leaves_out(*mask, devices) || !is_behind(*mask, failure)) continue;
    for (const Observation* again : subject.log.of(failure.id())) {
      if (is_behind(*again, *mask)) return true;
    }
  }
  return false;
}

void advise(const LogSubject& subject, const Devices& devices, Hypothesis& pick) {
  const std::string index(devices.discrete != nullptr ? devices.discrete->value("index") : "");
  const bool windows = platform_of(subject).platform == Platform::windows;
  if (index.empty()) {
    pick.fix.push_back(sentence(
        "which number the card has: rocminfo | grep -E 'Marketing|gfx'   (count the GPUs from 0)"));
  }
  const std::string number = index.empty() ? "N" : index;
  pick.fix.push_back(
      windows ? sentence(fmt::format(
                    "$env:HIP_VISIBLE_DEVICES=\"{}\"   (cmd: set HIP_VISIBLE_DEVICES={})", number,
                    number))
              : command("export HIP_VISIBLE_DEVICES=" + number));
  if (!windows) {
    pick.fix.push_back(
        sentence("For a service, put Environment=HIP_VISIBLE_DEVICES=" + number +
                 " into its unit. For a container, use -e HIP_VISIBLE_DEVICES=" + number + "."));
  }
  pick.fix.push_back(sentence("The discrete card is then device 0 for the job."));
  pick.fix.push_back(
      sentence("For a permanent solution, switch the integrated graphics off in the BIOS."));
}

// Desktop Ryzen 7000 and 9000 have a small GPU, unless the name ends in F.
std::optional<SceneGpu> implied_by_processor(const Scene& scene) {
  static const RE2 desktop(R"(Ryzen(?:\(TM\))? [3579] (?:PRO )?[79]\d[05]0(?:X3D|X)?\b)");
  if (!scene.cpu || !RE2::PartialMatch(*scene.cpu, desktop)) return std::nullopt;
  return SceneGpu{"gfx1036", *scene.cpu, true, {}, {}, scene.cpu.source()};
}

// No card that ROCm ever ran on has less than 1 GiB.
std::optional<SceneGpu> implied_by_memory(const LogSubject& subject) {
  const Observation* tiny = subject.log.first("torch-tiny-gpu");
  if (tiny == nullptr) return std::nullopt;
  return SceneGpu{"",   "an integrated GPU",
                  true, {},
                  {},   {tiny->log_name, static_cast<int>(tiny->line), tiny->text}};
}

// Whether PyTorch's wheels have code for the card, so that missing code points to the other GPU.
bool card_is_in_wheels(const LogSubject& subject, const SceneGpu& discrete) {
  const knowledge::Target* target = subject.tables.target(discrete.gfx);
  return target != nullptr && target->torch == knowledge::TorchWheels::current;
}

// Whether the program uses the integrated GPU.
bool is_in_use(const LogSubject& subject, const SceneGpu& integrated, const Devices& devices) {
  if (devices.integrated != nullptr && devices.integrated->value("index") == "0") return true;
  // llama.cpp spreads a model over every device that it counts, unless it is told otherwise.
  for (const Observation* one : subject.log.of("ggml-device")) {
    const bool its = one->value("gfx") == integrated.gfx;
    if (its && !subject.log.seen("ggml-device-chosen")) return true;
  }
  for (const Observation* buffer : subject.log.of("ggml-buffer-size")) {
    // Of two GPUs both are used, whatever their order.
    const bool is_second = subject.scene.gpus.size() == 2 && devices.integrated == nullptr &&
                           buffer->value("device") == "1";
    const bool its = is_second || (devices.integrated != nullptr &&
                                   buffer->value("device") == devices.integrated->value("index"));
    if (its) return true;
  }
  for (const Observation* named : subject.log.of("device-in-use")) {
    for (const SceneGpu& gpu : gpus_of_text(named->value("gpu"), subject.tables)) {
      if (gpu.gfx == integrated.gfx) return true;
    }
  }
  const Observation* used = subject.log.last("torch-arch");
  return used != nullptr && used->value("gfx") == integrated.gfx &&
         used->text.find("AMD arch") != std::string::npos;
}

// Whether PyTorch dies without a word at its first work on a card that its wheels have code for,
// while the runtime lists an integrated GPU that they have none for: the process loads its code for
// both.
bool is_crash_beside_igpu(const LogSubject& subject, const SceneGpu& discrete,
                          const SceneGpu& integrated) {
  const logs::Observations& log = subject.log;
  const auto agents = log.of("agent-name");
  const auto is_listed = [&](const SceneGpu& gpu) {
    return std::any_of(agents.begin(), agents.end(),
                       [&](const Observation* one) { return one->value("gfx") == gpu.gfx; });
  };
  const bool of_torch = subject.scene.torch || subject.scene.torch_rocm ||
                        log.any_of({"device-in-use", "torch-device", "torch-sees-gpu"});
  const bool other_sign = log.any_of({"crash-frame", "rocm-crash-frame", "gpu-page-fault",
                                      "memory-access-fault", "traceback", "training-step"});
  return of_torch && !other_sign && log.seen("segfault") && is_listed(discrete) &&
         is_listed(integrated) && card_is_in_wheels(subject, discrete) &&
         !card_is_in_wheels(subject, integrated);
}

struct Signs {
  const Observation* image = nullptr;
  const Observation* crash = nullptr;
  const Observation* tiny = nullptr;

  const Observation* first() const {
    return tiny != nullptr ? tiny : image != nullptr ? image : crash;
  }
};

// Sets the confidence from the signs, with reasons.
void judge(const LogSubject& subject, const Signs& signs, const SceneGpu& discrete, bool first,
           Hypothesis& pick) {
  const std::string failing = failing_target(subject);
  if (signs.tiny != nullptr) {
    pick.confidence = 0.85;
    pick.reasons.emplace_back(
        "The device in use has less than 1 GiB, which is typical of an integrated GPU and not of a "
        "card.");
  } else if (signs.image != nullptr && !failing.empty()) {
    pick.confidence = 0.92;
    pick.reasons.push_back(fmt::format(
        "What fails is code for {}, the integrated GPU; the card is {}.", failing, discrete.gfx));
  } else if (signs.image != nullptr) {
    pick.confidence = first ? 0.85 : card_is_in_wheels(subject, discrete) ? 0.7 : 0.4;
    pick.reasons.emplace_back(
        "A build for one family of cards has no code for the integrated GPU. If a process sees "
        "both, loading the code fails even if the card was chosen by its index.");
  } else {
    pick.confidence = first ? 0.55 : 0.3;
    pick.reasons.emplace_back(
        "If both are visible, work that runs on the integrated GPU fails there.");
  }
  if (first) pick.reasons.emplace_back("The job uses the integrated GPU.");
}

// Lowers the confidence if only the processor's name tells that there is an integrated GPU.
void doubt(const Signs& signs, Hypothesis& pick) {
  const double most = signs.tiny != nullptr ? 0.7 : signs.image != nullptr ? 0.5 : 0.1;
  pick.confidence = std::min(pick.confidence, most);
}

void show_signs(const LogSubject& subject, const Signs& signs, const Devices& devices,
                const SceneGpu& integrated, Hypothesis& pick) {
  pick.evidence.push_back(show(subject, *signs.first()));
  for (const Observation* line : {devices.integrated, devices.discrete}) {
    if (line != nullptr) pick.evidence.push_back(show(subject, *line, "a device that it lists"));
  }
  if (devices.integrated == nullptr) {
    pick.evidence.push_back({integrated.source.path, integrated.source.line, integrated.source.text,
                             "an integrated GPU is there"});
  }
}

// llama.cpp's name for an integrated GPU: AMD's driver gives most of them no number.
bool names_integrated(std::string_view listed, const knowledge::GpuTables& tables) {
  static const RE2 plain(
      R"(^AMD Radeon(?:\(TM\)|™)? (?:Graphics|Vega \d+ Graphics|\d{3}M(?: Graphics)?)\b)");
  const std::string name(trim(listed));
  if (RE2::PartialMatch(name, plain)) return true;
  const auto known = gpus_of_text(name, tables);
  return known.size() == 1 && known.front().integrated.value_or(false);
}

// llama.cpp says on which of its devices memory ran out, or a call failed. An integrated GPU that
// takes a share of the model beside a card has too little for it.
std::optional<Hypothesis> find_on_device(const LogSubject& subject) {
  const Observation* at = subject.log.first("ggml-current-device");
  if (at == nullptr) return std::nullopt;
  const Observation *failing = nullptr, *other = nullptr;
  for (const Observation* one : subject.log.of("ggml-device-listed")) {
    (one->value("index") == at->value("failing") ? failing : other) = one;
  }
  if (failing == nullptr || other == nullptr) return std::nullopt;
  const bool integrated = names_integrated(failing->value("listed"), subject.tables);
  if (!integrated || names_integrated(other->value("listed"), subject.tables)) return std::nullopt;
  Hypothesis pick;
  pick.confidence = 0.75;
  pick.title = fmt::format("Device {} is the integrated GPU, and the job failed there",
                           at->value("failing"));
  pick.reasons.push_back(
      fmt::format("{} is used as a device beside {}, so it gets a part of the model that does not "
                  "fit into its memory.",
                  failing->value("listed"), other->value("listed")));
  pick.evidence = {show(subject, *at, "where it failed"),
                   show(subject, *failing, "the device that it lists"),
                   show(subject, *other, "the card")};
  advise(subject, {failing, other}, pick);
  pick.alternatives.push_back(
      {"job-too-big", 0.2, "the same job with the integrated GPU hidden: HIP_VISIBLE_DEVICES=…"});
  return pick;
}

// The device that the program says it runs on, if that is the integrated GPU.
const Observation* said_to_run_on(const LogSubject& subject, const SceneGpu& integrated) {
  for (const char* id : {"device-in-use", "torch-arch"}) {
    const Observation* used = subject.log.last(id);
    if (used == nullptr) continue;
    const bool is_arch = used->text.find("AMD arch") != std::string::npos;
    if (is_arch && used->value("gfx") == integrated.gfx) return used;
    if (id == std::string_view("device-in-use") &&
        names_integrated(used->value("gpu"), subject.tables)) {
      return used;
    }
  }
  return nullptr;
}

// Nothing crashed, but the program says that it runs on the integrated GPU, and there is a card.
std::optional<Hypothesis> find_slow(const LogSubject& subject) {
  const SceneGpu* discrete = subject.scene.discrete_gpu();
  const SceneGpu* integrated = subject.scene.integrated_gpu();
  if (integrated == nullptr || discrete == nullptr) return std::nullopt;
  const Observation* used = said_to_run_on(subject, *integrated);
  const Devices devices = listed_devices(subject, *integrated);
  if (used == nullptr || masked(subject, devices, *used)) return std::nullopt;
  Hypothesis pick;
  pick.confidence = 0.65;
  pick.title = fmt::format("The job runs on the integrated GPU instead of the {}",
                           discrete->name.empty() ? discrete->gfx : discrete->name);
  pick.reasons = {"It has a fraction of the card's speed and memory."};
  pick.evidence = {
      show(subject, *used, "the device that the job uses"),
      {discrete->source.path, discrete->source.line, discrete->source.text, "the card is there"}};
  advise(subject, devices, pick);
  return pick;
}

// ROCm lists the integrated GPU alone, and a card is known to be there.
std::optional<Hypothesis> find_only_listed(const LogSubject& subject) {
  static const RE2 alone(R"(gfx[0-9a-f]{3,4})");
  const SceneGpu* discrete = subject.scene.discrete_gpu();
  if (discrete == nullptr) return std::nullopt;
  for (const Observation* asked : subject.log.of("targets-asked")) {
    std::string listed;
    bool has_card = false;
    for (const std::string& line : asked->output) {
      const std::string name(trim(line));
      if (!RE2::FullMatch(name, alone) || name == "gfx000") continue;
      const knowledge::Target* target = subject.tables.target(name);
      has_card |= target == nullptr || target->kind != knowledge::Kind::integrated;
      listed = name;
    }
    if (listed.empty() || has_card || listed == discrete->gfx) continue;
    Hypothesis pick;
    pick.confidence = 0.7;
    pick.title = fmt::format("ROCm lists only {}, the integrated GPU, and not the {}", listed,
                             discrete->name.empty() ? discrete->gfx : discrete->name);
    pick.reasons = {"The integrated GPU takes the card's place."};
    pick.evidence = {
        show(subject, *asked, fmt::format("lists {} only", listed)),
        {discrete->source.path, discrete->source.line, discrete->source.text, "the card"}};
    advise(subject, {}, pick);
    return pick;
  }
  return std::nullopt;
}

std::optional<Hypothesis> find_by_targets(const LogSubject& subject) {
  const Scene& scene = subject.scene;
  const SceneGpu* discrete = scene.discrete_gpu();
  std::optional<SceneGpu> implied = implied_by_processor(scene);
  if (!implied) implied = implied_by_memory(subject);
  const bool guessed = scene.integrated_gpu() == nullptr;
  const SceneGpu* integrated = guessed && implied ? &*implied : scene.integrated_gpu();
  if (integrated == nullptr || discrete == nullptr) return std::nullopt;
  const Devices devices = listed_devices(subject, *integrated);
  const bool in_use = is_in_use(subject, *integrated, devices);
  Signs signs{subject.log.first("kernel-image-refused"), subject.log.first("gpu-crash"),
              subject.log.first("torch-tiny-gpu")};
  const bool beside = is_crash_beside_igpu(subject, *discrete, *integrated);
  if (signs.first() == nullptr && (in_use || beside)) signs.crash = subject.log.first("segfault");
  if (signs.first() == nullptr || masked(subject, devices, *signs.first())) return std::nullopt;
  // If the card itself lacks code, the cause is another.
  const std::string failing = failing_target(subject);
  if (!failing.empty() && failing != integrated->gfx) return std::nullopt;
  Hypothesis pick;
  judge(subject, signs, *discrete, in_use, pick);
  if (guessed) doubt(signs, pick);
  constexpr double least_beside = 0.42;
  if (beside && !guessed) pick.confidence = std::max(pick.confidence, least_beside);
  constexpr double keeps = 0.3;
  if (fails_without_it(subject, devices, *signs.first())) pick.confidence *= keeps;
  const Observation* cured = cure(subject, devices, *signs.first());
  if (cured != nullptr) {
    pick.confidence = std::max(pick.confidence, guessed ? 0.7 : 0.9);
    pick.reasons.emplace_back("With the integrated GPU hidden, the same job works.");
  }
  pick.title =
      fmt::format("The integrated GPU{} gets in the way of the {}",
                  integrated->gfx.empty() ? "" : fmt::format(" ({})", integrated->gfx),
                  discrete->name.empty() ? discrete->gfx
                                         : fmt::format("{} ({})", discrete->name, discrete->gfx));
  show_signs(subject, signs, devices, *integrated, pick);
  if (cured != nullptr) pick.evidence.push_back(show(subject, *cured, "works with it hidden"));
  advise(subject, devices, pick);
  pick.alternatives.push_back(
      {"gfx-target-missing", 0.25,
       "the same job with the integrated GPU hidden: HIP_VISIBLE_DEVICES=…"});
  return pick;
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  auto by_targets = find_by_targets(subject);
  auto on_device = find_on_device(subject);
  if (on_device && (!by_targets || on_device->confidence > by_targets->confidence)) {
    return on_device;
  }
  if (by_targets) return by_targets;
  auto slow = find_slow(subject);
  return slow ? slow : find_only_listed(subject);
}

}  // namespace

constinit const CauseRule igpu_selected_cause = {
    .id = "igpu-selected",
    .meaning = "The job uses an integrated GPU beside the card, or fails because there is one.",
    .why =
        "Most Ryzen desktop processors contain a small GPU. ROCm lists it, sometimes first. "
        "Libraries that were not built for it fail as soon as they use it.",
    .fix = "Hide it with HIP_VISIBLE_DEVICES, or switch it off in the BIOS.",
    .explains =
        "gfx-target-missing gfx-target-dropped gpu-hang crash-loop framework-bug gpu-unsupported "
        "gfx-override-wrong managed-memory job-too-big uma-carveout-small",
    .find = find,
};

}  // namespace headroom::findings
