// SPDX-License-Identifier: Apache-2.0
// option-not-in-force: modprobe.d sets a memory option of amdgpu or TTM, and the kernel reports
// another value. Either the file is newer than the last boot, or the module was loaded from an
// initramfs that has no copy of the file.
#include <fmt/format.h>

#include <optional>

#include "facts/options_in_force.h"
#include "findings/advice.h"
#include "findings/rules.h"

namespace headroom::findings {
namespace {

// What the initramfs has instead, if its image could be read.
struct Copy {
  const facts::InitramfsCopy* of = nullptr;
  bool absent = false;                      // The image does not have the file.
  std::optional<facts::ModuleOption> sets;  // What the copy sets the parameter to.

  bool known() const { return absent || (of != nullptr && of->text.known()); }
};

Copy find_copy(const facts::MachineFacts& machine, const facts::ModuleOption& option) {
  Copy copy{machine.initramfs_copy(option.source.path), false,
            facts::find_in_initramfs(machine, option)};
  copy.absent = copy.of != nullptr && !copy.of->text &&
                copy.of->text.missing().why == facts::Why::not_present;
  return copy;
}

// The end of the title.
std::string in_short(const Copy& copy, bool up_to_date) {
  if (!copy.known()) return "";
  if (copy.absent) return "; the initramfs does not contain the file";
  return up_to_date ? "; the initramfs contains it, so only a reboot is missing"
                    : "; the initramfs contains an older copy";
}

std::string explain(const Copy& copy, const facts::ModuleOption& option) {
  const std::string early =
      "The module is loaded early, from the initramfs, with the options in the initramfs. ";
  if (!copy.known()) {
    return early +
           "Either the file changed after the last boot, or the initramfs was not rebuilt since.";
  }
  const std::string& image = copy.of->image;
  if (copy.absent) {
    return early +
           fmt::format(
               "{} has no copy of the file: it was built before the file existed, or for any "
               "machine (dracut --no-hostonly), which leaves such files out. If the file is still "
               "missing after a rebuild, put the option on the kernel command line.",
               image);
  }
  if (!copy.sets) {
    return early + fmt::format("{} has an older copy of the file, without this option.", image);
  }
  if (!facts::same_value(copy.sets->value, option.value)) {
    return early + fmt::format("{} has an older copy of the file, with {}={}.", image, option.key,
                               copy.sets->value);
  }
  return early + fmt::format(
                     "{} contains the file with this option, so it was built after this boot. A "
                     "reboot puts it into force. If the machine was rebooted since, the boot "
                     "loader uses another image.",
                     image);
}

Evidence show_copy(const Copy& copy) {
  if (copy.absent) return {copy.of->image, 0, copy.of->file + " is not in it", "the initramfs"};
  if (!copy.sets)
    return {copy.of->image, 0, copy.of->file + " in it lacks the option", "the initramfs"};
  return {copy.of->image, copy.sets->source.line, copy.sets->source.text,
          "the copy of " + copy.of->file + " in the initramfs"};
}

Finding make(const facts::MachineFacts& machine, const facts::ModuleOption& option,
             const facts::Text& in_force) {
  const std::string name = option.module + "." + option.key;
  const Copy copy = find_copy(machine, option);
  const bool up_to_date = facts::is_in_initramfs(machine, option);
  Finding finding;
  finding.id = "option-not-in-force";
  finding.severity = Severity::warning;
  finding.title =
      fmt::format("{}={} in {} is not in force: the kernel has {}{}", name, option.value,
                  option.source.path, *in_force, in_short(copy, up_to_date));
  finding.reasons = {explain(copy, option)};
  finding.evidence = {{option.source.path, option.source.line, option.source.text, "what is set"},
                      show(in_force, "what is in force")};
  if (copy.known()) finding.evidence.push_back(show_copy(copy));
  finding.fix = up_to_date ? std::vector<Step>{reboot(), look("headroom check")}
                           : steps_to_rebuild_initramfs(machine);
  finding.next = NextCommand::fix("option-not-in-force");
  return finding;
}

std::vector<Finding> find(const Subject& subject) {
  const facts::MachineFacts& machine = subject.facts.machine;
  std::vector<Finding> findings;
  for (const facts::ModuleOption* option : facts::options_not_in_force(subject.facts)) {
    const std::string name = option->module + "." + option->key;
    findings.push_back(make(machine, *option, *machine.parameter(name)));
  }
  return findings;
}

}  // namespace

constinit const Rule option_not_in_force_rule = {
    .id = "option-not-in-force",
    .meaning = "modprobe.d sets one value of a memory option, and the kernel has another.",
    .why =
        "amdgpu and TTM are usually loaded from the initramfs, which has its own copy of "
        "modprobe.d. If you edit the file and reboot without rebuilding the initramfs, nothing "
        "changes, and no message says so.",
    .fix = "Rebuild the initramfs, check that it contains the file, and reboot.",
    .find = find,
};

}  // namespace headroom::findings
