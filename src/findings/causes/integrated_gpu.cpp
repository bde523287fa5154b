// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/integrated_gpu.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <string>

#include "base/text.h"
#include "findings/causes/access.h"

namespace headroom::findings {
namespace {

using logs::Observation;

// Whether a mask leaves the integrated GPU out.
bool leaves_out(const Observation& mask, const ListedDevices& devices) {
  const std::string_view index =
      devices.integrated != nullptr ? devices.integrated->value("index") : "0";
  const std::string_view left = trim(mask.value("devices"));
  return !left.empty() && left.find(index) == std::string_view::npos;
}

// Whether rocminfo lists the integrated GPU before the card. HIP counts in the same order, so it is
// the device that a program takes if it does not choose.
bool is_first_agent(const LogSubject& subject, const SceneGpu& integrated) {
  const auto agents = subject.log.of("agent-name");
  if (agents.empty() || agents.front()->value("gfx") != integrated.gfx) return false;
  return std::any_of(agents.begin(), agents.end(), [&](const Observation* one) {
    return one->log == agents.front()->log && one->value("gfx") != integrated.gfx;
  });
}

bool is_behind(const Observation& one, const Observation& other) {
  return one.log == other.log && one.line > other.line;
}

}  // namespace

ListedDevices listed_devices(const LogSubject& subject, const SceneGpu& integrated) {
  ListedDevices devices;
  for (const std::string_view id : {"torch-device", "ggml-device", "ollama-device"}) {
    for (const Observation* one : subject.log.of(id)) {
      const bool its = one->value("gfx") == integrated.gfx;
      const Observation*& place = its ? devices.integrated : devices.discrete;
      if (place == nullptr) place = one;
    }
  }
  return devices;
}

// Whether such a mask was in force at the failure, which rules the integrated GPU out.
bool is_masked(const LogSubject& subject, const ListedDevices& devices,
               const Observation& failure) {
  for (const Observation* mask : subject.log.of("visible-devices")) {
    if (leaves_out(*mask, devices) && !is_behind(*mask, failure)) return true;
  }
  return false;
}

// Finds such a mask that was set after the failure, if the job then did its work.
const Observation* curing_mask(const LogSubject& subject, const ListedDevices& devices,
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
bool fails_without_it(const LogSubject& subject, const ListedDevices& devices,
                      const Observation& failure) {
  for (const Observation* mask : subject.log.of("visible-devices")) {
    if (!leaves_out(*mask, devices) || !is_behind(*mask, failure)) continue;
    for (const Observation* again : subject.log.of(failure.id())) {
      if (is_behind(*again, *mask)) return true;
    }
  }
  return false;
}

// Whether the program uses the integrated GPU.
bool is_in_use(const LogSubject& subject, const SceneGpu& integrated,
               const ListedDevices& devices) {
  if (devices.integrated != nullptr && devices.integrated->value("index") == "0") return true;
  if (devices.integrated == nullptr && is_first_agent(subject, integrated)) return true;
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

// llama.cpp's name for an integrated GPU: AMD's driver gives most of them no number.
bool names_integrated(std::string_view listed, const knowledge::GpuTables& tables) {
  static const RE2 plain(
      R"(^AMD Radeon(?:\(TM\)|™)? (?:Graphics|Vega \d+ Graphics|\d{3}M(?: Graphics)?)\b)");
  static const RE2 with_target(R"(\b(gfx[0-9a-f]{3,4})\b)");
  const std::string name(trim(listed));
  std::string gfx;
  if (RE2::PartialMatch(name, with_target, &gfx)) {
    const knowledge::Target* target = tables.target(gfx);
    if (target != nullptr && target->kind == knowledge::Kind::discrete) return false;
  }
  if (RE2::PartialMatch(name, plain)) return true;
  const auto known = gpus_of_text(name, tables);
  return known.size() == 1 && known.front().integrated.value_or(false);
}

void advise_to_hide(const LogSubject& subject, const ListedDevices& devices, Hypothesis& pick) {
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

}  // namespace headroom::findings
