// SPDX-License-Identifier: Apache-2.0
// headroom fix: what would be changed on this machine, as diffs and commands; with --apply it is
// done, journalled and proved.
#include "plan/fix.h"

#include <fmt/format.h>

#include "base/text.h"
#include "change/change_machine.h"
#include "cli/change_doors.h"
#include "cli/commands.h"
#include "cli/looked_over.h"
#include "facts/stated.h"
#include "machine/program.h"
#include "machine/terminal.h"
#include "report/change_script.h"
#include "report/change_text.h"
#include "report/fix_list.h"

namespace headroom::cli {
namespace {

struct FixCommand {
  std::string id;
  std::string root = "/";
  std::string reserve;
  std::string via = "auto";
  plan::FixOptions options;
  bool permanent = false;
  bool apply = false;
  bool script = false;
  bool json = false;
};

Status complete_options(FixCommand& command, const LookedOver& machine) {
  command.options.user = machine.asker.user;
  command.options.home = machine.asker.home;
  command.options.trial = !command.permanent;
  if (!command.reserve.empty()) {
    const auto reserve = parse_bytes(command.reserve);
    if (!reserve) return std::move(reserve).error().in("--reserve " + command.reserve);
    command.options.reserve = *reserve;
  }
  if (command.via == "kernel") command.options.via = plan::Via::kernel_arguments;
  if (command.via == "modprobe") command.options.via = plan::Via::module_options;
  const auto folder = machine::program_folder();
  command.options.program = folder ? *folder + "/headroom" : "headroom";
  return Done{};
}

Error no_such_fix(const std::string& id) {
  std::vector<std::string> ids;
  for (const plan::Fix* fix : plan::fixes()) ids.emplace_back(fix->id);
  const auto near = nearest(id, ids);
  return {Errc::invalid, fmt::format("expected one of {}; found \"{}\"", join(ids, ", "), id),
          near ? "headroom fix " + *near : "headroom fix   (what could be mended here)"};
}

int list_fixes(const FixCommand& command, const plan::FixSubject& subject) {
  std::vector<const plan::Fix*> here;
  for (const plan::Fix* fix : plan::fixes()) {
    if (fix->applies(subject)) here.push_back(fix);
  }
  if (command.json) {
    fmt::print("{}", report::fixes_to_json_text(here));
  } else {
    const report::Style style{machine::stdout_shows_colour()};
    fmt::print("{}", report::fixes_to_text(here, style));
  }
  return here.empty() ? exit_ok : exit_findings;
}

int apply(const FixCommand& command, const plan::Change& change, const LookedOver& machine,
          const Context& context) {
  const auto doors = ChangeDoors::open(command.root, context);
  if (!doors) return print_error(doors.error(), exit_could_not_look);
  const std::string boot_id = machine.boot.boot_id ? *machine.boot.boot_id : "";
  const auto record =
      change::apply((*doors)->doors(), (*doors)->journal_for(change), change, boot_id);
  if (!record) return print_error(record.error(), exit_findings);
  if (command.json) {
    fmt::print("{}", report::applied_to_json_text(*record));
  } else {
    const report::Style style{machine::stdout_shows_colour()};
    fmt::print("{}", report::applied_to_text(*record, style));
  }
  return exit_ok;
}

int run_fix(FixCommand& command, const Context& context) {
  const plan::Fix* fix = command.id.empty() ? nullptr : plan::find_fix(command.id);
  if (!command.id.empty() && fix == nullptr) {
    return print_error(no_such_fix(command.id), exit_usage);
  }
  const auto machine = look_over(command.root, command.options.user, context);
  if (!machine) return print_error(machine.error(), exit_could_not_look);
  const LookedOver& here = **machine;
  if (const auto complete = complete_options(command, here); !complete) {
    return print_error(complete.error(), exit_usage);
  }
  const plan::FixSubject subject{here.facts,         here.diagnosis,  here.tables,    here.boot,
                                 here.setting_files, command.options, &here.libraries};
  if (fix == nullptr) return list_fixes(command, subject);
  const auto change = fix->plan(subject);
  if (!change) return print_error(change.error(), exit_usage);
  if (command.script) {
    fmt::print("{}", report::to_script(*change));
    return exit_ok;
  }
  if (command.apply) return apply(command, *change, here, context);
  const report::Ladders ladders{here.facts, *change};
  if (command.json) {
    fmt::print("{}", report::to_json_text(*change));
  } else {
    const report::Style style{machine::stdout_shows_colour()};
    fmt::print("{}", report::to_text(*change, here.facts, style));
  }
  return exit_ok;
}

}  // namespace

}  // namespace headroom::cli
