// SPDX-License-Identifier: Apache-2.0
// The integrated GPU does the card's work: llama.cpp fails on it, a program says that it runs
// there, or ROCm lists nothing else.
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <string>

#include "base/text.h"
#include "findings/causes/integrated_gpu.h"

namespace headroom::findings {
namespace {

using logs::Observation;

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

// Whether a mask leaves out the device at this place.
bool leaves_out(const logs::Observations& log, std::string_view place) {
  for (const Observation* mask : log.of("visible-devices")) {
    const auto left = split(mask->value("devices"), ',');
    if (std::find(left.begin(), left.end(), place) == left.end()) return true;
  }
  return false;
}

}  // namespace

// llama.cpp says on which of its devices memory ran out, or a call failed. An integrated GPU that
// takes a share of the model beside a card has too little for it.
std::optional<Hypothesis> find_failure_on_igpu(const LogSubject& subject) {
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
  advise_to_hide(subject, {failing, other}, pick);
  pick.alternatives.push_back(
      {"job-too-big", 0.2, "the same job with the integrated GPU hidden: HIP_VISIBLE_DEVICES=…"});
  return pick;
}

// Nothing crashed, but the program says that it runs on the integrated GPU, and there is a card.
std::optional<Hypothesis> find_slow_on_igpu(const LogSubject& subject) {
  const SceneGpu* discrete = subject.scene.discrete_gpu();
  const SceneGpu* integrated = subject.scene.integrated_gpu();
  if (integrated == nullptr || discrete == nullptr) return std::nullopt;
  const Observation* used = said_to_run_on(subject, *integrated);
  const ListedDevices devices = listed_devices(subject, *integrated);
  if (used == nullptr || is_masked(subject, devices, *used)) return std::nullopt;
  Hypothesis pick;
  pick.confidence = 0.65;
  pick.title = fmt::format("The job runs on the integrated GPU instead of the {}",
                           discrete->name.empty() ? discrete->gfx : discrete->name);
  pick.reasons = {"It has a fraction of the card's speed and memory."};
  pick.evidence = {
      show(subject, *used, "the device that the job uses"),
      {discrete->source.path, discrete->source.line, discrete->source.text, "the card is there"}};
  advise_to_hide(subject, devices, pick);
  return pick;
}

// llama.cpp numbers the GPUs as rocminfo lists them.
std::optional<Hypothesis> find_share_on_igpu(const LogSubject& subject) {
  const logs::Observations& log = subject.log;
  const SceneGpu* discrete = subject.scene.discrete_gpu();
  const SceneGpu* integrated = subject.scene.integrated_gpu();
  const Observation* failed = log.first("llama-server-start-failed");
  if (discrete == nullptr || integrated == nullptr || failed == nullptr) return std::nullopt;
  const auto agents = log.of("agent-name");
  std::string place;
  bool has_card = false;
  for (std::size_t i = 0; i < agents.size(); ++i) {
    if (agents[i]->value("gfx") == integrated->gfx) place = std::to_string(i);
    has_card |= agents[i]->value("gfx") == discrete->gfx;
  }
  if (place.empty() || !has_card || leaves_out(log, place)) return std::nullopt;
  for (const Observation* share : log.of("llama-device-buffer")) {
    if (share->value("index") != place) continue;
    constexpr double sure = 0.62;
    Hypothesis pick;
    pick.confidence = sure;
    pick.title = fmt::format(
        "The integrated GPU ({}) gets a share of the model, and the server "
        "does not start",
        integrated->gfx);
    pick.reasons = {
        "It is used as a device beside the card, and has neither its speed nor its "
        "memory."};
    pick.evidence = {show(subject, *share, "what the integrated GPU is to hold"),
                     show(subject, *failed)};
    advise_to_hide(subject, {}, pick);
    pick.alternatives.push_back({"job-too-big", 0.2,
                                 "the same job with the integrated GPU hidden: "
                                 "HIP_VISIBLE_DEVICES=…"});
    return pick;
  }
  return std::nullopt;
}

// ROCm lists the integrated GPU alone, and a card is known to be there.
std::optional<Hypothesis> find_igpu_alone(const LogSubject& subject) {
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
    advise_to_hide(subject, {}, pick);
    return pick;
  }
  return std::nullopt;
}

}  // namespace headroom::findings
