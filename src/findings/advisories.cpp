// SPDX-License-Identifier: Apache-2.0
#include "findings/advisories.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "facts/kernel_release.h"
#include "findings/memory_use.h"

namespace headroom::findings {
namespace {

using facts::HasFix;
using knowledge::Advisory;
using knowledge::Effect;

bool concerns(const Advisory& advisory, const facts::Gpu& gpu) {
  const bool target = advisory.gfx.empty() ||
                      (gpu.gfx && std::find(advisory.gfx.begin(), advisory.gfx.end(), *gpu.gfx) !=
                                      advisory.gfx.end());
  return target && (!advisory.integrated || (gpu.integrated && *gpu.integrated));
}

bool avoided(const Advisory& advisory, const facts::MachineFacts& machine) {
  if (advisory.unless_key.empty()) return false;
  const auto* option = machine.option(advisory.unless_module, advisory.unless_key);
  return option != nullptr && option->value == advisory.unless_value;
}

// Each of these returns whether its condition may hold, and adds the evidence for it.

bool match_kernel(const Subject& subject, UnknownKernel unknown, AdvisoryMatch& match) {
  const Advisory& advisory = *match.advisory;
  const facts::MachineFacts& machine = subject.facts.machine;
  const bool asks = advisory.kernel || !advisory.without_fix.empty() || !advisory.with_fix.empty();
  if (!asks) return true;
  if (!machine.kernel) {
    match.certain = false;
    return unknown == UnknownKernel::open;
  }
  const auto kernel = facts::parse_kernel_release(
      *machine.kernel, machine.kernel_signature ? *machine.kernel_signature : "");
  if (!kernel) return false;
  match.evidence.push_back(show(machine.kernel, "the running kernel"));
  if (machine.kernel_signature) {
    match.evidence.push_back(show(machine.kernel_signature, "the package it is from"));
  }
  const bool own_driver = machine.ttm_module == "amdttm" || machine.driver_version;
  const bool in_range = advisory.kernel && facts::in_range(kernel->version, *advisory.kernel);
  if (advisory.kernel && (!in_range || own_driver)) return false;
  for (const bool wanted : {false, true}) {
    const std::string& id = wanted ? advisory.with_fix : advisory.without_fix;
    const auto* fix = subject.tables.advisories.fix(id);
    if (fix == nullptr) continue;
    const facts::FixState state = has_fix(*kernel, *fix, own_driver);
    if (state.has == (wanted ? HasFix::no : HasFix::yes)) return false;
    if (state.has == HasFix::cannot_tell) match.certain = false;
    match.reasons.push_back(state.why);
  }
  return true;
}

bool match_rocm(const facts::MachineFacts& machine, AdvisoryMatch& match) {
  const auto& ranges = match.advisory->rocm;
  if (ranges.empty()) return true;
  const auto version = machine.rocm ? facts::parse_kernel_version(*machine.rocm) : std::nullopt;
  const bool inside = version && std::any_of(ranges.begin(), ranges.end(), [&](const auto& range) {
                        return facts::in_range(*version, range);
                      });
  if (inside) match.evidence.push_back(show(machine.rocm, "the installed ROCm"));
  return inside;
}

// Writes firmware names as people do: "mes" → "MES".
std::string firmware_name(std::string name) {
  for (char& letter : name) {
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  }
  return name;
}

bool match_firmware(const facts::Gpu& gpu, AdvisoryMatch& match) {
  const auto& condition = match.advisory->firmware;
  if (!condition) return true;
  const auto version = gpu.firmware.version(condition->name);
  if (!version || *version != condition->is) return false;
  match.evidence.push_back(
      show(version,
           fmt::format("its {} firmware is {:#x}", firmware_name(condition->name), condition->is)));
  return true;
}

std::string title(const AdvisoryMatch& match, const Subject& subject, const facts::Gpu& gpu) {
  const Advisory& advisory = *match.advisory;
  const facts::MachineFacts& machine = subject.facts.machine;
  if (advisory.about == "firmware") {
    return fmt::format("{} runs {} firmware {:#x}, which is known to {}", title_of(gpu),
                       firmware_name(advisory.firmware->name), advisory.firmware->is,
                       advisory.effect == Effect::bad ? "break compute" : "be unstable");
  }
  if (advisory.about == "rocm") {
    const bool of_kernel = advisory.kernel || !advisory.with_fix.empty();
    return fmt::format("ROCm {} is known {} with {}{}", *machine.rocm,
                       advisory.effect == Effect::bad ? "not to work" : "to be unstable",
                       title_of(gpu), of_kernel ? " on this kernel" : "");
  }
  const auto* fix = subject.tables.advisories.fix(advisory.without_fix);
  const std::string what = fix != nullptr ? fix->what : "a change";
  if (!match.certain) {
    return fmt::format("the version of Linux {} does not show whether it has what {} needs: {}",
                       *machine.kernel, title_of(gpu), what);
  }
  return fmt::format("Linux {} lacks what {} needs: {}", *machine.kernel, title_of(gpu), what);
}

struct KernelPackage {
  std::string name;   // "linux-generic-hwe-24.04"; empty: none is known.
  std::string since;  // "6.17.0-19.19~24.04.2".
};

// Ubuntu's kernel that has the change, in the flavour that runs here.
KernelPackage kernel_package(const knowledge::KernelFix& fix, const facts::MachineFacts& machine) {
  constexpr std::string_view ubuntu = "Ubuntu ";
  if (!machine.distribution || !machine.distribution->starts_with(ubuntu)) return {};
  const std::string release = machine.distribution->substr(ubuntu.size(), 5);  // "24.04".
  const bool is_known = std::any_of(fix.ubuntu.begin(), fix.ubuntu.end(), [&](const auto& one) {
    return one.package.find("~" + release) != std::string::npos;
  });
  if (!is_known) return {};
  const bool is_oem = machine.kernel && machine.kernel->ends_with("-oem");
  for (const auto& one : fix.ubuntu) {
    if ((one.flavour == "oem") != is_oem) continue;
    return {(is_oem ? "linux-oem-" : "linux-generic-hwe-") + release,
            one.series + "-" + one.package};
  }
  return {};
}

// What its row says; of a missing change with the command, where the distribution is known.
std::vector<Step> steps_of(const Advisory& advisory, const Subject& subject) {
  std::vector<Step> steps = sentences(advisory.to_do);
  const auto* fix = subject.tables.advisories.fix(advisory.without_fix);
  if (fix == nullptr || steps.empty() || advisory.effect == Effect::bad) return steps;
  const KernelPackage package = kernel_package(*fix, subject.facts.machine);
  if (package.name.empty()) return steps;
  steps.front() = sentence_with(
      fmt::format("Install the kernel {} or later; it needs no reboot of its own", package.since),
      "sudo apt install " + package.name);
  if (!advisory.price.empty()) {
    steps.insert(
        steps.begin() + 1,
        sentence_with(fmt::format("See which ROCm your PyTorch was built for ({})", advisory.price),
                      "python3 -c 'import torch; print(torch.version.hip)'"));
  }
  return steps;
}

Finding make(const AdvisoryMatch& match, const Subject& subject, const facts::Gpu& gpu,
             const std::string& id) {
  const Advisory& advisory = *match.advisory;
  Finding finding;
  finding.id = id;
  finding.gpu = gpu.pci;
  finding.title = title(match, subject, gpu);
  finding.severity = match.certain ? Severity::warning : Severity::info;
  finding.reasons = {advisory.happens};
  finding.reasons.insert(finding.reasons.end(), match.reasons.begin(), match.reasons.end());
  finding.reasons.push_back(
      fmt::format("Known from: {} (certainty {}).",
                  join(knowledge::full_sources(subject.tables, advisory.origin), "; "),
                  to_string(advisory.origin.certainty)));
  finding.evidence = match.evidence;
  if (gpu.gfx) finding.evidence.push_back(show(gpu.gfx, "the target is " + *gpu.gfx));
  finding.fix = steps_of(advisory, subject);
  finding.next = NextCommand::check();
  finding.joins_steps = match.certain;
  if (match.certain && advisory.effect == Effect::bad) {
    finding.id = advisory.cause;
    finding.severity = Severity::error;
    const bool read = advisory.origin.certainty == knowledge::Certainty::read;
    finding.claim = Claim{Verdict::broken, read ? 0.85 : 0.8, {}};
  }
  return finding;
}

}  // namespace

std::vector<AdvisoryMatch> match_advisories(const Subject& subject, const facts::Gpu& gpu,
                                            UnknownKernel unknown) {
  std::vector<AdvisoryMatch> matches;
  for (const Advisory& advisory : subject.tables.advisories.rows) {
    if (!concerns(advisory, gpu) || avoided(advisory, subject.facts.machine)) continue;
    AdvisoryMatch match{&advisory, true, {}, {}};
    if (match_rocm(subject.facts.machine, match) && match_firmware(gpu, match) &&
        match_kernel(subject, unknown, match)) {
      matches.push_back(std::move(match));
    }
  }
  std::stable_sort(matches.begin(), matches.end(), [](const auto& a, const auto& b) {
    return a.advisory->effect > b.advisory->effect;
  });
  return matches;
}

std::vector<Finding> find_advisories(const Subject& subject, std::string_view about,
                                     const std::string& id) {
  std::vector<Finding> findings;
  for (const facts::Gpu& gpu : subject.facts.gpus) {
    const auto matches = match_advisories(subject, gpu);
    for (const AdvisoryMatch& match : matches) {
      const Advisory& advisory = *match.advisory;
      if (advisory.about != about || advisory.effect == Effect::note) continue;
      // An advisory that says a missing change breaks jobs makes one superfluous that says they may
      // fail.
      const bool said_worse = std::any_of(matches.begin(), matches.end(), [&](const auto& other) {
        return other.advisory->effect > advisory.effect && !advisory.without_fix.empty() &&
               other.advisory->without_fix == advisory.without_fix;
      });
      if (!said_worse) findings.push_back(make(match, subject, gpu, id));
    }
  }
  return findings;
}

}  // namespace headroom::findings
