// SPDX-License-Identifier: Apache-2.0
// option-not-in-force: modprobe.d sets a memory option of amdgpu or TTM, and the kernel reports
// another value. Either the file is newer than the last boot, or the module was loaded from an
// initramfs that has no copy of the file.
#include <fmt/format.h>

#include "base/text.h"
#include "findings/advice.h"
#include "findings/rules.h"

namespace headroom::findings {
namespace {

// Booleans are written 1 and reported Y.
std::string plain(std::string_view value) {
  std::string word = to_lower(trim(value));
  if (word == "y" || word == "1") return "1";
  if (word == "n" || word == "0") return "0";
  return word;
}

// A limit that was in force when the driver loaded and was written over since: limit-not-in-force
// says so.
bool was_in_force(const facts::Facts& facts, const facts::ModuleOption& option) {
  constexpr std::uint64_t page_bytes = 4096;
  const auto pages = parse_u64(option.value);
  if (option.key != "pages_limit" || !pages) return false;
  for (const facts::Gpu& gpu : facts.gpus) {
    const facts::Rung* at_load = gpu.ladder.rung("kfd-ttm");
    if (at_load == nullptr || !at_load->limit) continue;
    if (at_load->limit->value / page_bytes == *pages) return true;
  }
  return false;
}

Finding make(const facts::MachineFacts& machine, const facts::ModuleOption& option,
             const facts::Text& in_force) {
  const std::string name = option.module + "." + option.key;
  Finding finding;
  finding.id = "option-not-in-force";
  finding.severity = Severity::warning;
  finding.title = fmt::format("{}={} in {} is not in force: the kernel has {}", name, option.value,
                              option.source.path, *in_force);
  finding.reasons = {
      "The module is loaded early, from the initramfs, with the options that the initramfs holds. "
      "Either the file changed after the last boot, or the initramfs was not made again since."};
  finding.evidence = {{option.source.path, option.source.line, option.source.text, "what is asked"},
                      show(in_force, "what is in force")};
  finding.fix = steps_to_rebuild_initramfs(machine);
  finding.next = "headroom check --if reboot";
  return finding;
}

std::vector<Finding> find(const Subject& subject) {
  const facts::MachineFacts& machine = subject.facts.machine;
  std::vector<Finding> findings;
  if (subject.facts.gpus.empty()) return findings;
  for (const facts::ModuleOption& option : machine.options) {
    const bool from_file = option.source.path != "/proc/cmdline";
    const bool counts = machine.option(option.module, option.key) == &option;
    const facts::Text* in_force = machine.parameter(option.module + "." + option.key);
    if (!from_file || !counts || in_force == nullptr || !*in_force) continue;
    if (plain(option.value) == plain(**in_force) || was_in_force(subject.facts, option)) continue;
    findings.push_back(make(machine, option, *in_force));
  }
  return findings;
}

}  // namespace

constinit const Rule option_not_in_force_rule = {
    .id = "option-not-in-force",
    .meaning = "modprobe.d asks for one value of a memory option, and the kernel has another.",
    .why =
        "amdgpu and TTM are usually loaded from the initramfs, which has its own copy of "
        "modprobe.d. Who edits the file and reboots without making the initramfs again changes "
        "nothing, and no message says so.",
    .fix = "Make the initramfs again, see that it holds the file, reboot.",
    .find = find,
};

}  // namespace headroom::findings
