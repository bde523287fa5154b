// SPDX-License-Identifier: Apache-2.0
// A program prints the names of its devices, the integrated GPU first, and dies at its first work.
// PyTorch's wheels have no code for such a GPU, and device 0 is what a program takes by default.
#include <fmt/format.h>

#include <string>

#include "base/text.h"
#include "findings/causes/integrated_gpu.h"

namespace headroom::findings {
namespace {

using logs::Observation;

struct NamedDevices {
  const Observation* integrated = nullptr;
  const Observation* discrete = nullptr;
  std::string card;
};

// What llama.cpp lists behind a name: "AMD Radeon Graphics, gfx906:sramecc+:xnack- (0x906), …".
std::string with_target(const Observation& line, std::string_view name) {
  const std::size_t at = line.text.find(name);
  return at == std::string::npos ? std::string(name) : line.text.substr(at);
}

// One line may name both, as a list.
void take(const Observation& line, bool is_first, std::string_view name,
          const knowledge::GpuTables& tables, NamedDevices& devices) {
  if (name.empty()) return;
  const bool integrated = names_integrated(name, tables);
  if (integrated && is_first && devices.integrated == nullptr) devices.integrated = &line;
  if (integrated || is_first || devices.discrete != nullptr) return;
  devices.discrete = &line;
  devices.card = trim(name.substr(0, name.find(',')));
}

NamedDevices named_devices(const LogSubject& subject) {
  NamedDevices devices;
  for (const Observation* line : subject.log.of("device-named")) {
    const bool is_first = line->value("index") == "0";
    const std::string named = with_target(*line, line->value("named"));
    if (!line->value("named").empty()) take(*line, is_first, named, subject.tables, devices);
    take(*line, true, line->value("first"), subject.tables, devices);
    take(*line, false, line->value("second"), subject.tables, devices);
  }
  return devices;
}

}  // namespace

std::optional<Hypothesis> find_crash_on_first_device(const LogSubject& subject) {
  const NamedDevices devices = named_devices(subject);
  const Observation* crash =
      subject.log.first_of({"segfault", "signal-exit", "memory-access-fault"});
  if (devices.integrated == nullptr || devices.discrete == nullptr || crash == nullptr) {
    return std::nullopt;
  }
  const bool other_sign = subject.log.any_of({"crash-frame", "training-step", "visible-devices"});
  Hypothesis pick;
  pick.confidence = other_sign ? 0.3 : 0.55;
  pick.title = "Device 0 is the integrated GPU, and the job died at its first work";
  pick.reasons.push_back(
      fmt::format("A program that does not choose takes device 0. The card, {}, comes behind it.",
                  devices.card));
  pick.evidence = {show(subject, *devices.integrated, "the integrated GPU comes first"),
                   show(subject, *devices.discrete, "the card"), show(subject, *crash)};
  advise_to_hide(subject, {devices.integrated, devices.discrete}, pick);
  pick.alternatives = {{"gfx-target-missing", 0.2, "the same job with the integrated GPU hidden"},
                       {"framework-bug", 0.15, "the same job with the integrated GPU hidden"}};
  return pick;
}

}  // namespace headroom::findings
