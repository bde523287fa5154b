// SPDX-License-Identifier: Apache-2.0
// An integrated GPU beside a card, told by what does not crash on it: KFD refuses it and the card
// is not seen, a program that chooses none takes it, or a library spreads a model over both.
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>

#include "base/text.h"
#include "findings/causes/access.h"
#include "findings/causes/integrated_gpu.h"
#include "findings/causes/told_topics.h"

namespace headroom::findings {
namespace {

using logs::Observation;

const knowledge::Device* device_of(const LogSubject& subject, const Observation& listed) {
  const auto id = parse_hex(listed.value("listed"));
  return id ? subject.tables.device(static_cast<std::uint32_t>(*id)) : nullptr;
}

bool is_integrated(const LogSubject& subject, const knowledge::Device& device) {
  if (device.integrated) return *device.integrated;
  const knowledge::Target* target = subject.tables.target(device.gfx);
  return target != nullptr && target->kind == knowledge::Kind::integrated;
}

// What `lspci -n` lists of AMD: an integrated GPU and a card.
struct OnTheBus {
  const Observation* integrated = nullptr;
  const Observation* card = nullptr;
};

OnTheBus on_the_bus(const LogSubject& subject) {
  OnTheBus bus;
  for (const Observation* one : subject.log.of("lspci-numbers")) {
    const knowledge::Device* device = device_of(subject, *one);
    if (device == nullptr) continue;
    (is_integrated(subject, *device) ? bus.integrated : bus.card) = one;
  }
  return bus;
}

// The card's name, or its target.
std::string name_of(const SceneGpu& card) {
  return card.name.empty() ? card.gfx : card.name;
}

}  // namespace

std::optional<Hypothesis> find_igpu_refused_by_kfd(const LogSubject& subject) {
  const OnTheBus bus = on_the_bus(subject);
  if (bus.integrated == nullptr || bus.card == nullptr) return std::nullopt;
  const std::string_view at = bus.integrated->value("at");
  for (const Observation* refused : subject.log.of("kfd-unsupported-chip")) {
    if (refused->text.find(at) == std::string::npos || subject.log.seen("kfd-added")) continue;
    Hypothesis pick;
    pick.confidence = 0.62;
    pick.title = fmt::format("KFD refuses the integrated GPU at {}, and the card stays unseen", at);
    pick.reasons.emplace_back(
        "Early releases of ROCm and of the kernel's compute driver do not work where an "
        "integrated GPU is beside the card: what fails for the one fails for both.");
    pick.evidence = {show(subject, *refused, "the integrated GPU"), show(subject, *bus.integrated),
                     show(subject, *bus.card, "the card")};
    pick.fix = {sentence("Switch the integrated graphics off in the BIOS.")};
    pick.alternatives = {{"driver-not-loaded", 0.3, "dkms status; sudo dmesg | grep kfd"},
                         {"kernel-too-old", 0.2, "uname -r, compared with the GPU's generation"}};
    return pick;
  }
  return std::nullopt;
}

std::optional<Hypothesis> find_igpu_as_first_device(const LogSubject& subject) {
  const SceneGpu* card = subject.scene.discrete_gpu();
  if (card == nullptr || subject.log.seen("visible-devices")) return std::nullopt;
  // A failure that is printed tells more than the order of the devices.
  if (subject.log.first_with(knowledge::Role::failure) != nullptr) return std::nullopt;
  for (const Observation* named : subject.log.of("device-named")) {
    if (named->value("index") != "0" && named->value("index_1") != "0") continue;
    const std::size_t at = named->text.find(named->value("named"));
    if (at == std::string::npos || named->value("named").empty()) continue;
    if (!names_integrated(named->text.substr(at), subject.tables)) continue;
    Hypothesis pick;
    pick.confidence = tells_of_trouble(subject.log) ? 0.72 : 0.55;
    pick.title = fmt::format("Device 0 is the integrated GPU, not the {}", name_of(*card));
    pick.reasons.emplace_back("A program that does not choose takes device 0.");
    pick.evidence = {
        show(subject, *named, "the first device"),
        {card->source.path, card->source.line, card->source.text, "the card is there"}};
    advise_to_hide(subject, {}, pick);
    return pick;
  }
  return std::nullopt;
}

// accelerate's device_map="auto" and "balanced" fill every device that PyTorch counts
// (huggingface/accelerate: utils/modeling.py, get_balanced_memory), also one without kernels.
std::optional<Hypothesis> find_share_without_kernels(const LogSubject& subject) {
  const SceneGpu* card = subject.scene.discrete_gpu();
  const Observation* spread = subject.log.first("device-map-spread");
  const Observation* failed = subject.log.first("invalid-device-function");
  if (card == nullptr || spread == nullptr || failed == nullptr) return std::nullopt;
  const SceneGpu* known = subject.scene.integrated_gpu();
  const auto implied = implied_by_processor(subject.scene);
  const knowledge::Target* target = subject.tables.target(card->gfx);
  const bool has_code = target != nullptr && target->torch == knowledge::TorchWheels::current;
  if ((known == nullptr && !implied) || !has_code) return std::nullopt;
  const SceneGpu& integrated = known != nullptr ? *known : *implied;
  if (is_masked(subject, listed_devices(subject, integrated), *failed)) return std::nullopt;
  Hypothesis pick;
  pick.confidence = known != nullptr ? 0.72 : 0.62;
  pick.title = "The model is spread over the card and the integrated GPU, which has no kernels";
  pick.reasons = {
      fmt::format("Without a mask, every GPU that PyTorch counts gets layers, also that of {}.",
                  integrated.name),
      fmt::format("PyTorch's wheels have code for {}, and none for it.", card->gfx)};
  pick.evidence = {show(subject, *failed),
                   show(subject, *spread, "spreads over all devices"),
                   {integrated.source.path, integrated.source.line, integrated.source.text,
                    "an integrated GPU is there"}};
  advise_to_hide(subject, {}, pick);
  pick.alternatives = {{"gfx-target-missing", 0.3,
                        "the same job with the integrated GPU hidden: HIP_VISIBLE_DEVICES=0"}};
  return pick;
}

}  // namespace headroom::findings
