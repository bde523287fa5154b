// SPDX-License-Identifier: Apache-2.0
// option-overridden: a memory option of amdgpu or TTM is set in two places with two values. The
// kernel command line wins over modprobe.d, and among files the one that is read last.
#include <fmt/format.h>

#include <set>

#include "findings/rules.h"

namespace headroom::findings {
namespace {

bool is_ours(const facts::ModuleOption& option) {
  return option.module == "amdgpu" || option.module == "ttm" || option.module == "amdttm";
}

std::string place(const facts::ModuleOption& option) {
  return option.source.path == "/proc/cmdline" ? "the kernel command line" : option.source.path;
}

std::vector<Finding> find(const Subject& subject) {
  const facts::MachineFacts& machine = subject.facts.machine;
  std::vector<Finding> findings;
  std::set<std::string> said;
  if (subject.facts.gpus.empty()) return findings;
  for (const facts::ModuleOption& loser : machine.options) {
    const std::string name = loser.module + "." + loser.key;
    const auto* winner = machine.option(loser.module, loser.key);
    if (!is_ours(loser) || winner == &loser || winner->value == loser.value) continue;
    if (!said.insert(name).second) continue;
    Finding finding;
    finding.id = "option-overridden";
    finding.severity = Severity::warning;
    finding.title = fmt::format("{} is set to {} in {}, but {} in {} wins", name, loser.value,
                                place(loser), winner->value, place(*winner));
    finding.evidence = {{loser.source.path, loser.source.line, loser.source.text, "has no effect"},
                        {winner->source.path, winner->source.line, winner->source.text, "counts"}};
    finding.fix = {sentence(fmt::format("Keep only one of them: remove {}={} from {}.", loser.key,
                                        loser.value, place(loser)))};
    finding.next = NextCommand::fix("option-overridden");
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace

constinit const Rule option_overridden_rule = {
    .id = "option-overridden",
    .meaning = "The same module option has different values in two places.",
    .why =
        "The kernel command line silently wins over modprobe.d. People change the file, rebuild "
        "the initramfs, reboot, and nothing happens.",
    .fix = "Set the option in one place only.",
    .find = find,
};

}  // namespace headroom::findings
