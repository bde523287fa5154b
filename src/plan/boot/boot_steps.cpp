// SPDX-License-Identifier: Apache-2.0
#include "plan/boot/boot_steps.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/boot/command_line_words.h"
#include "plan/boot/grub_defaults.h"
#include "plan/boot/grubby.h"
#include "plan/boot/image_based.h"
#include "plan/boot/kernelstub.h"
#include "plan/boot/proxmox.h"
#include "plan/boot/systemd_boot.h"

namespace headroom::plan {
namespace {

template <class T>
void append(std::vector<T>& to, std::vector<T>&& from) {
  for (T& item : from) {
    to.push_back(std::move(item));
  }
}

void append_new(std::vector<std::string>& to, std::vector<std::string>&& from) {
  for (std::string& item : from) {
    if (std::find(to.begin(), to.end(), item) == to.end()) to.push_back(std::move(item));
  }
}

Result<BootSteps> plan_by_tool(facts::CommandLineTool tool, const BootSubject& subject,
                               const ArgumentChange& change) {
  switch (tool) {
    case facts::CommandLineTool::grubby:
      return plan_by_grubby(subject, change);
    case facts::CommandLineTool::update_grub:
    case facts::CommandLineTool::grub_mkconfig:
      return plan_by_grub(subject, change);
    case facts::CommandLineTool::systemd_boot:
      return plan_by_loader_entries(subject, change);
    case facts::CommandLineTool::kernelstub:
      return plan_by_kernelstub(subject, change);
    case facts::CommandLineTool::rpm_ostree:
      return plan_by_rpm_ostree(subject, change);
    case facts::CommandLineTool::proxmox_boot_tool:
      return plan_by_proxmox_boot_tool(subject, change);
    case facts::CommandLineTool::nixos:
      break;
  }
  return plan_for_nixos(change);
}

}  // namespace

void add_to(Change& change, BootSteps more) {
  if (!more.steps.empty()) change.needs_reboot = true;
  append(change.steps, std::move(more.steps));
  append(change.on_confirm, std::move(more.on_confirm));
  // The enumeration goes from what needs nobody to what needs somebody.
  change.fallback = std::max(change.fallback, more.fallback);
  append_new(change.rescue, std::move(more.rescue));
  append_new(change.boots_with, std::move(more.boots_with));
  append_new(change.boots_without, std::move(more.boots_without));
  append_new(change.notes, std::move(more.notes));
  append_new(change.warnings, std::move(more.warnings));
}

Result<BootSteps> plan_kernel_arguments(const BootSubject& subject, const ArgumentChange& change) {
  HEADROOM_CHECK(check_words(change));
  const auto& tool = subject.boot.command_line;
  if (!tool) {
    return Error{Errc::unsupported,
                 fmt::format("expected a boot loader whose command line headroom can edit; found "
                             "none ({})",
                             facts::to_string(tool.missing())),
                 fmt::format("by hand: {} on the kernel command line, where this machine's boot "
                             "loader keeps it, and reboot",
                             describe(change))};
  }
  HEADROOM_TRY(BootSteps steps, plan_by_tool(*tool, subject, change));
  steps.boots_with = change.set;
  steps.boots_without = change.drop;
  return steps;
}

}  // namespace headroom::plan
