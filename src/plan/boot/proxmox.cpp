// SPDX-License-Identifier: Apache-2.0
#include "plan/boot/proxmox.h"

#include <fmt/format.h>

#include "base/text.h"
#include "plan/boot/kernel_cmdline_file.h"
#include "plan/boot/rescue.h"

namespace headroom::plan {

Result<BootSteps> plan_by_proxmox_boot_tool(const BootSubject& subject,
                                            const ArgumentChange& change) {
  const facts::ConfigFile* file = subject.boot.file(kernel_cmdline_path);
  if (file == nullptr || trim(file->text).empty()) {
    return Error{Errc::unsupported,
                 fmt::format("expected the kernel command line in {}; the file does not exist, is "
                             "empty, or could not be read",
                             kernel_cmdline_path),
                 "run it with sudo"};
  }
  BootSteps steps;
  auto edit = edit_kernel_cmdline(subject.boot, change);
  if (!edit) return steps;
  edit->why = "proxmox-boot-tool generates the boot entries of every kernel from this file.";
  Command refresh;
  refresh.argv = {"proxmox-boot-tool", "refresh"};
  refresh.undo = refresh.argv;
  // The partitions that it writes to are mounted for that moment only.
  refresh.undo_run = UndoRun::always;
  steps.steps.push_back(std::move(*edit));
  steps.steps.push_back({StepKind::kernel_argument,
                         "Write the boot entries of every EFI system partition again",
                         "",
                         refresh,
                         {},
                         true});
  steps.fallback = BootFallback::by_hand;
  steps.rescue = rescue_in_menu(systemd_boot_keys, change);
  steps.notes.emplace_back(
      "The new command line is not tried for one boot first: proxmox-boot-tool keeps its EFI "
      "system "
      "partitions unmounted, and writes every entry itself.");
  return steps;
}

}  // namespace headroom::plan
