// SPDX-License-Identifier: Apache-2.0
// headroom fix: what would be changed on this machine, as diffs and commands; with --apply it is
// done, journalled and proved.
#include "plan/fix.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"
#include "base/shell_quote.h"
#include "base/text.h"
#include "change/change_machine.h"
#include "change/hard_links.h"
#include "change/journal.h"
#include "cli/change_session.h"
#include "cli/commands.h"
#include "cli/inspected_machine.h"
#include "findings/causes/causes.h"
#include "findings/rules.h"
#include "machine/interrupt.h"
#include "machine/program.h"
#include "machine/terminal.h"
#include "report/change_json.h"
#include "report/change_script.h"
#include "report/change_text.h"
#include "report/fix_list.h"
#include "report/record_report.h"

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

Status complete_options(FixCommand& command, const InspectedMachine& machine) {
  if (machine.invoking_user.is_unknown) {
    return Error{
        Errc::invalid,
        fmt::format("--user: expected a user of this machine, found \"{}\"", command.options.user),
        "cut -d: -f1 /etc/passwd   (lists the users)"};
  }
  command.options.user = machine.invoking_user.user;
  command.options.looked_as_user = machine.invoking_user.is_caller;
  command.options.home = machine.invoking_user.home;
  command.options.trial = !command.permanent;
  if (!command.reserve.empty()) {
    auto reserve = parse_bytes(command.reserve);
    if (!reserve) return std::move(reserve).error().in("--reserve " + command.reserve);
    command.options.reserve = *reserve;
  }
  if (command.via == "kernel") command.options.via = plan::Via::kernel_arguments;
  if (command.via == "modprobe") command.options.via = plan::Via::module_options;
  // Of another root this program's own place says nothing.
  const auto folder = machine::program_folder();
  const bool here = machine.root.files.is_real() && folder;
  command.options.program = here ? *folder + "/headroom" : "/usr/bin/headroom";
  return Done{};
}

Error no_such_fix(const std::string& id) {
  std::vector<std::string> ids;
  for (const plan::Fix* fix : plan::fixes()) ids.emplace_back(fix->id);
  const auto is_id = [&id](const auto* rule) { return rule->id == id; };
  if (std::ranges::any_of(findings::cause_rules(), is_id) ||
      std::ranges::any_of(findings::rules(), is_id))
    return {Errc::invalid, fmt::format("{}: no change of settings fixes it", id),
            fmt::format("headroom check   (says what to do here), headroom help {}", id)};
  const auto near = nearest(id, ids);
  return {Errc::invalid,
          near ? fmt::format("there is no fix \"{}\"; did you mean {}?", printable(id), *near)
               : fmt::format("there is no fix \"{}\"", printable(id)),
          near ? "headroom fix " + *near : "headroom fix   (lists what can be fixed here)"};
}

int list_fixes(const FixCommand& command, const plan::FixSubject& subject, const Context& context) {
  std::vector<report::ListedFix> listed;
  for (const plan::Fix* fix : plan::fixes()) {
    listed.push_back({fix, plan::outlook_of(*fix, subject)});
  }
  if (command.json) {
    context.printer.print_json_text(report::fixes_to_json_text(listed));
  } else {
    const report::Style style{machine::stdout_shows_colour(), machine::stdout_width()};
    context.printer.print(
        report::fixes_to_text(listed, subject.diagnosis, subject.facts, style, command.root));
  }
  const bool any = std::any_of(listed.begin(), listed.end(), [](const auto& one) {
    return one.outlook.standing == plan::Standing::needed;
  });
  return any ? exit_findings : exit_ok;
}

int apply(const FixCommand& command, const plan::Change& change, const InspectedMachine& machine,
          const Context& context) {
  context.printer.finish_first();
  const auto session = ChangeSession::open(command.root, context);
  if (!session) return print_error(context, session.error(), exit_could_not_look);
  // ^C ends the program that a step runs, and with it the step; everything is taken back then.
  const machine::Interrupt held;
  const std::string boot_id = machine.boot.boot_id ? *machine.boot.boot_id : "";
  const auto record =
      change::apply((*session)->doors(), (*session)->journal_for(change), change, boot_id);
  if (!record) return print_change_error(context, record.error(), exit_findings);
  if (command.json) {
    context.printer.print_json_text(report::to_json_text(*record, {}));
  } else {
    const report::Style style{machine::stdout_shows_colour(), machine::stdout_width()};
    context.printer.print(report::applied_to_text(*record, style));
  }
  return exit_ok;
}

// What the user typed, as far as it matters to do it again; the record keeps it.
std::vector<std::string> words_of(const FixCommand& command) {
  std::vector<std::string> words = {"headroom", "fix", command.id};
  const auto add = [&words](const char* name, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {name, value});
  };
  add("--size", command.options.size);
  add("--reserve", command.reserve);
  if (command.via != "auto") add("--via", command.via);
  add("--output", command.options.output);
  add("--user", command.options.user);
  if (command.options.keep_gttsize) words.emplace_back("--keep-gttsize");
  if (command.options.rollback_on_mismatch) words.emplace_back("--rollback-on-mismatch");
  if (command.permanent) words.emplace_back("--permanent");
  return words;
}

// What root would see and this user does not.
std::vector<std::string> files_of_root(const InspectedMachine& here, bool journal_withheld) {
  std::vector<std::string> paths;
  for (const facts::Text& text : here.boot.unseen) {
    const bool withheld = !text && text.missing().why == facts::Why::no_permission;
    if (withheld) paths.push_back(text.source().path);
  }
  if (journal_withheld) paths.emplace_back(change::system_journal);
  return paths;
}

// A plan can only be as good as what could be read for it.
void say_what_was_not_seen(const InspectedMachine& here, bool journal_withheld,
                           plan::Change& change) {
  if (!change.needs_reboot) return;
  const auto withheld = files_of_root(here, journal_withheld);
  if (!withheld.empty()) {
    change.warnings.push_back(fmt::format(
        "Only root can read {}, so this plan was made without it. --apply uses root's plan, which "
        "may differ, for instance by a trial boot. To see that plan: sudo {}",
        join(withheld, ", "), shell_line(change.words)));
  } else if (!here.facts.machine.live && !here.boot.command_line && here.boot.files.empty()) {
    change.warnings.emplace_back(
        "This capture does not contain the boot loader's files. On the machine itself the steps "
        "use the boot loader's own tools.");
  }
}

// During a trial boot the settings that are in force are not those that are set. False where only
// root can see whether there is one.
bool say_what_is_pending(const FixCommand& command, const Context& context, plan::Change& change) {
  const auto session = ChangeSession::open(command.root, context);
  if (!session || !change.needs_reboot) return true;
  const auto pending = (*session)->find("", plan::awaits_reboot, "a change that awaits its reboot");
  if (!pending) return pending.error().code != Errc::no_permission;
  change.warnings.push_back(
      fmt::format("{} still has to be confirmed after its reboot. Until {} or {} has been run, "
                  "--apply is refused. This plan may be different then.",
                  pending->record.id, plan::confirm_command(pending->record),
                  plan::undo_command(pending->record)));
  return true;
}

void say_what_is_parted(const FixCommand& command, const Context& context, plan::Change& change) {
  const auto session = ChangeSession::open(command.root, context);
  if (!session) return;
  const auto sentences = change::find_parted_names((*session)->files(), change);
  change.warnings.insert(change.warnings.end(), sentences.begin(), sentences.end());
}

// What check found besides and a change of settings does not mend: a kernel or a firmware that is
// known to be bad.
void say_what_else_is_needed(const findings::Diagnosis& diagnosis, plan::Change& change) {
  if (!change.needs_reboot) return;
  for (const findings::Finding& finding : diagnosis.findings) {
    if (!finding.joins_steps || finding.id == change.fix) continue;
    std::string text =
        fmt::format("This change does not mend what check also found: {}.", finding.title);
    for (const findings::Step& step : finding.fix) {
      const bool is_typed = step.is_command() || step.is_look();
      if (!is_typed && step.run.empty()) {
        text += "\n" + step.whole();
        continue;
      }
      if (!is_typed) text += "\n" + step.text + ":";
      text += "\n  " + (is_typed ? step.text : step.run);
      if (!step.remark.empty()) text += "   " + step.remark;
    }
    change.warnings.push_back(std::move(text));
  }
}

// The name of a finding that another fix mends, or none.
Error no_fix_of_that_name(const std::string& id, const InspectedMachine& machine) {
  Error error = no_such_fix(id);
  for (const findings::Finding& finding : machine.diagnosis.findings) {
    if (finding.id != id || !finding.next.mends()) continue;
    error.message = fmt::format("{} has no fix of its own; another command helps", id);
    error.next = finding.next.text();
    break;
  }
  return error;
}

int run_fix(FixCommand& command, const Context& context) {
  const plan::Fix* fix = command.id.empty() ? nullptr : plan::find_fix(command.id);
  const auto machine = inspect_machine(command.root, command.options.user, context);
  if (!command.id.empty() && fix == nullptr) {
    return print_error(
        context, machine ? no_fix_of_that_name(command.id, **machine) : no_such_fix(command.id),
        exit_usage);
  }
  if (!machine) return print_error(context, machine.error(), exit_could_not_look);
  const InspectedMachine& here = **machine;
  if (const auto complete = complete_options(command, here); !complete) {
    return print_error(context, complete.error(), exit_usage);
  }
  const plan::FixSubject subject{here.facts,         here.diagnosis,  here.tables,    here.boot,
                                 here.setting_files, command.options, &here.libraries};
  if (fix == nullptr) return list_fixes(command, subject, context);
  auto change = fix->plan(subject);
  if (!change) return print_error(context, change.error(), exit_usage);
  const bool journal_seen = say_what_is_pending(command, context, *change);
  say_what_was_not_seen(here, !journal_seen, *change);
  say_what_is_parted(command, context, *change);
  say_what_else_is_needed(here.diagnosis, *change);
  if (command.apply) return apply(command, *change, here, context);
  if (command.script) {
    context.printer.print(report::to_script(*change));
  } else if (command.json) {
    context.printer.print_json_text(report::to_json_text(*change, here.facts));
  } else {
    const report::Style style{machine::stdout_shows_colour(), machine::stdout_width()};
    context.printer.print(report::to_text(*change, here.facts, style));
  }
  return exit_ok;
}

}  // namespace

void add_fix(CLI::App& app, Context& context) {
  auto options = std::make_shared<FixCommand>();
  CLI::App* command =
      app.add_subcommand("fix", "Show how to fix what check found; with --apply, fix it");
  command
      ->add_option(
          "FINDING", options->id,
          "What to fix, by the name that check prints (default: list what headroom can fix)")
      ->type_name("FINDING");
  auto* apply =
      command->add_flag("--apply", options->apply, "Do it; without this option nothing changes");
  auto* script =
      command->add_flag("--script", options->script, "Print a shell script that does the same");
  command->add_flag("--json", options->json, "Print JSON (headroom.fix/1)")->excludes(script);
  script->excludes(apply);
  command
      ->add_option("--size", options->options.size,
                   "How much of the RAM the GPU may use (default: auto, the RAM minus a reserve)")
      ->type_name("SIZE|auto|max");
  command->add_option("--reserve", options->reserve, "How much RAM the system keeps, such as 8GiB")
      ->type_name("SIZE");
  command
      ->add_option("--via", options->via,
                   "Where to set kernel module parameters: on the kernel command line or in "
                   "modprobe.d (default: auto, where they are set already)")
      ->type_name("auto|kernel|modprobe")
      ->check(CLI::IsMember({"auto", "kernel", "modprobe"}));
  command->add_flag("--keep-gttsize", options->options.keep_gttsize,
                    "Do not remove a deprecated amdgpu.gttsize");
  command->add_flag("--permanent", options->permanent,
                    "Do not test the new kernel command line for one boot first");
  command->add_flag("--rollback-on-mismatch", options->options.rollback_on_mismatch,
                    "After the reboot, undo the change if the result is not as predicted");
  command->add_option("--output", options->options.output, "The folder that fix stack writes to")
      ->type_name("DIR");
  command
      ->add_option(
          "--user", options->options.user,
          "The user whose groups and home folder are changed (default: the user who runs headroom)")
      ->type_name("NAME");
  command
      ->add_option("--root", options->root,
                   "Show what would be done on a captured machine, as for headroom check --root")
      ->type_name("PATH");
  command->footer(
      "headroom undo undoes a change.\n\n"
      "Exit: 0 done or shown; 1 failed and undone, or, for the list, there is something to fix; 2 "
      "wrong usage, or not possible here; 3 could not look.\n\n"
      "Examples:\n"
      "  headroom fix                       what headroom can fix here\n"
      "  headroom fix ttm-cap               what it would do, as diffs and commands\n"
      "  sudo headroom fix ttm-cap --apply  do it");
  command->callback([options, &context] {
    options->options.words = words_of(*options);
    context.exit_code = run_fix(*options, context);
  });
}

}  // namespace headroom::cli
