// SPDX-License-Identifier: Apache-2.0
// An integrated GPU for which a library has no code, or on which a job crashed although there is a
// card. Its presence alone may break a process that loads code for every device.
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>

#include "findings/causes/integrated_gpu.h"

namespace headroom::findings {
namespace {

using logs::Observation;

std::string failing_target(const LogSubject& subject) {
  for (const Observation* one : subject.log.of("kernel-image-refused")) {
    for (const std::string_view key : {"failing", "failing_file"}) {
      if (!one->value(key).empty()) return std::string(one->value(key));
    }
  }
  const Observation* ollama = subject.log.first("ollama-gpu-unsupported");
  return ollama != nullptr ? std::string(ollama->value("gfx")) : "";
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
  return of_torch && !other_sign && log.any_of({"segfault", "signal-exit"}) &&
         is_listed(discrete) && is_listed(integrated) && card_is_in_wheels(subject, discrete) &&
         !card_is_in_wheels(subject, integrated);
}

// The runtime dies while a program only lists the devices, before it chooses one: of an integrated
// GPU and a card with other code, a mask at the runtime (ROCR_VISIBLE_DEVICES) tells which.
const Observation* dies_listing(const LogSubject& subject, const SceneGpu& discrete,
                                const SceneGpu& integrated) {
  static const RE2 lists(
      R"((?i)--list-devices|\brocminfo\b|rocm_agent_enumerator|hipGetDeviceCount|device_count\(\)|enumerat\w+ (?:the )?(?:gpus?|devices|agents)|\bhsa_init\b)");
  if (discrete.gfx.empty() || integrated.gfx.empty() || discrete.gfx == integrated.gfx) {
    return nullptr;
  }
  for (const char* id : {"segfault", "signal-exit", "aborted"}) {
    for (const Observation* one : subject.log.of(id)) {
      if (RE2::PartialMatch(one->text, lists)) return one;
    }
  }
  return nullptr;
}

// The sentence that names the integrated GPU beside the card, where a person reports a crash: who
// brings it up has a reason. One that is said to be off or hidden is out of it.
const Observation* named_by_the_author(const logs::Observations& log) {
  static const RE2 names(
      R"((?i)\bi-?gpus?\b|\bintegrated (?:gpu|graphics|radeon|amd)|\b(?:built[- ]in|on-?board) (?:gpu|graphics)|\bgfx1036\b)");
  static const RE2 out_of_it(
      R"((?i)\b(?:disabl\w+|(?:switched|turned) off|off in|hidden|hid(?:e|ing)|exclud\w+|mask(?:ed|ing)|no i-?gpu|not (?:the|an?) i-?gpu|without)\b)");
  // A fault on the GPU, or a frame of a library, tells more than who is named.
  const bool other_sign = log.any_of({"memory-access-fault", "gpu-page-fault", "ring-timeout",
                                      "gpu-reset", "crash-frame", "rocm-crash-frame", "traceback"});
  if (other_sign || !log.any_of({"segfault", "signal-exit", "aborted"})) return nullptr;
  const Observation* named = nullptr;
  for (const Observation* one : log.of("sentence")) {
    if (!RE2::PartialMatch(one->text, names)) continue;
    if (RE2::PartialMatch(one->text, out_of_it)) return nullptr;
    if (named == nullptr) named = one;
  }
  return named;
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

void show_signs(const LogSubject& subject, const Signs& signs, const ListedDevices& devices,
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

}  // namespace

std::optional<SceneGpu> implied_by_processor(const Scene& scene) {
  static const RE2 desktop(R"(Ryzen(?:\(TM\))? [3579] (?:PRO )?[79]\d[05]0(?:X3D|X)?\b)");
  if (!scene.cpu || !RE2::PartialMatch(*scene.cpu, desktop)) return std::nullopt;
  return SceneGpu{"gfx1036", *scene.cpu, true, {}, {}, scene.cpu.source()};
}

std::optional<Hypothesis> find_igpu_in_the_way(const LogSubject& subject) {
  const Scene& scene = subject.scene;
  const SceneGpu* discrete = scene.discrete_gpu();
  std::optional<SceneGpu> implied = implied_by_processor(scene);
  if (!implied) implied = implied_by_memory(subject);
  const bool guessed = scene.integrated_gpu() == nullptr;
  const SceneGpu* integrated = guessed && implied ? &*implied : scene.integrated_gpu();
  if (integrated == nullptr || discrete == nullptr) return std::nullopt;
  const ListedDevices devices = listed_devices(subject, *integrated);
  const bool in_use = is_in_use(subject, *integrated, devices);
  Signs signs{subject.log.first("kernel-image-refused"), subject.log.first("gpu-crash"),
              subject.log.first("torch-tiny-gpu")};
  const bool beside = is_crash_beside_igpu(subject, *discrete, *integrated);
  const Observation* named = named_by_the_author(subject.log);
  if (signs.first() == nullptr && (in_use || beside || named != nullptr))
    signs.crash = subject.log.first_of({"segfault", "signal-exit"});
  const Observation* listing = dies_listing(subject, *discrete, *integrated);
  const bool only_crashed = signs.image == nullptr && signs.tiny == nullptr;
  if (listing != nullptr && only_crashed && !guessed) signs.crash = listing;
  if (signs.first() == nullptr || is_masked(subject, devices, *signs.first())) return std::nullopt;
  // If the card itself lacks code, the cause is another.
  const std::string failing = failing_target(subject);
  if (!failing.empty() && failing != integrated->gfx) return std::nullopt;
  Hypothesis pick;
  judge(subject, signs, *discrete, in_use, pick);
  if (guessed) doubt(signs, pick);
  constexpr double least_beside = 0.42;
  if (beside && !guessed) pick.confidence = std::max(pick.confidence, least_beside);
  constexpr double least_listing = 0.5;
  if (listing != nullptr && signs.crash == listing) {
    pick.confidence = std::max(pick.confidence, least_listing);
    pick.reasons.emplace_back("It dies while it lists the devices, before any is chosen.");
  }
  constexpr double least_named = 0.55;
  if (named != nullptr && only_crashed && pick.confidence < least_named) {
    pick.confidence = least_named;
    pick.is_told = true;
    pick.reasons.emplace_back("The author names it beside the card. No line proves that it is it.");
  }
  constexpr double keeps = 0.3;
  if (fails_without_it(subject, devices, *signs.first())) pick.confidence *= keeps;
  const Observation* cured = curing_mask(subject, devices, *signs.first());
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
  if (pick.is_told) pick.evidence.push_back(show(subject, *named, "named beside the card"));
  if (cured != nullptr) pick.evidence.push_back(show(subject, *cured, "works with it hidden"));
  advise_to_hide(subject, devices, pick);
  pick.alternatives.push_back(
      {"gfx-target-missing", 0.25,
       "the same job with the integrated GPU hidden: HIP_VISIBLE_DEVICES=…"});
  return pick;
}

}  // namespace headroom::findings
