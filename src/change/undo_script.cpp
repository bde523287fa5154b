// SPDX-License-Identifier: Apache-2.0
#include "change/undo_script.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/shell_quote.h"

namespace headroom::change {
namespace {

std::string restore_lines(const plan::Touched& touched) {
  const std::string path = "\"$root\"" + shell_quote(touched.path);
  if (!touched.before) return fmt::format("rm -f {}\n", path);
  if (touched.before->kind == EntryKind::link) {
    return fmt::format("ln -sfn {} {}\n", shell_quote(touched.before->target), path);
  }
  const std::string beside = "\"$root\"" + shell_quote(touched.path + ".headroom-undo");
  return fmt::format("cp -a \"$here\"/originals/{} {}\nmv -f {} {}\n", touched.original, beside,
                     beside, path);
}

std::string commands(const plan::Record& record) {
  std::string lines;
  for (const plan::Step& step : record.change.steps) {
    const auto* command = std::get_if<plan::Command>(&step.action);
    if (command == nullptr || command->undo.empty()) continue;
    lines +=
        fmt::format("echo {}\n", shell_quote("then, on the machine: " + shell_line(command->undo)));
  }
  return lines;
}

}  // namespace

std::string undo_script(const plan::Record& record) {
  std::string script = fmt::format(
      "#!/bin/sh\n"
      "# Takes back {} ({}).\n"
      "# sh undo.sh          on the machine itself\n"
      "# sh undo.sh /mnt     from a rescue system that has its root file system at /mnt\n"
      "set -eu\n"
      "root=${{1:-}}\n"
      "here=$(cd \"$(dirname \"$0\")\" && pwd)\n",
      record.id, record.made);
  for (auto touched = record.touched.rbegin(); touched != record.touched.rend(); ++touched) {
    script += restore_lines(*touched);
  }
  for (auto folder = record.folders_made.rbegin(); folder != record.folders_made.rend(); ++folder) {
    script += fmt::format("rmdir \"$root\"{} 2>/dev/null || true\n", shell_quote(*folder));
  }
  script += commands(record);
  return script + fmt::format("echo {}\n", shell_quote(record.id + " is taken back"));
}

}  // namespace headroom::change
