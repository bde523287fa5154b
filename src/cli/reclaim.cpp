// SPDX-License-Identifier: Apache-2.0
// headroom reclaim: gets GPU memory back from those that hold it and should not, by the gentlest
// way that works. Without --apply it only says what it would do, and who would die by it.
#include "reclaim/reclaim.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/document.h"
#include "base/shell_quote.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/surroundings.h"
#include "facts/find_gpu.h"
#include "findings/memory_use.h"
#include "knowledge/gpu_tables.h"
#include "machine/open_root.h"
#include "machine/process_handle.h"
#include "machine/terminal.h"
#include "machine/user.h"
#include "plan/reclaim/reclaim_plan.h"
#include "plan/reclaim/rung.h"
#include "probe/probe.h"
#include "probe/read_occupancy.h"
#include "reclaim/system_kernel.h"
#include "report/cause_text.h"
#include "report/reclaim_json.h"
#include "report/reclaim_text.h"

namespace headroom::cli {
namespace {

struct Typed {
  std::string root = "/";
  std::string gpu;
  std::string free;
  std::string up_to = "ask";
  plan::ReclaimOptions plan;
  bool apply = false;
  bool json = false;
  bool verbose = false;
};

// One look at the machine.
struct Look {
  facts::Facts facts;
  facts::Occupancy occupancy;
};

Result<Look> look(const machine::Files& files, const knowledge::GpuTables& tables,
                  const Context& context) {
  probe::Surroundings surroundings = make_surroundings(context, "", files.is_real());
  surroundings.ask_kfd = false;
  Look look;
  HEADROOM_TRY(look.facts, probe::probe(files, tables, surroundings));
  const std::uint64_t pid = files.is_real() ? machine::own_pid() : 0;
  look.occupancy = probe::read_occupancy(files, look.facts.gpus, pid);
  return look;
}

Status read_options(Typed& typed) {
  if (!typed.free.empty()) {
    HEADROOM_TRY(typed.plan.free, parse_bytes(typed.free));
  }
  HEADROOM_TRY(typed.plan.up_to, plan::parse_rung(typed.up_to));
  return Done{};
}

plan::Caller make_caller(const Typed& typed, const std::string& pci) {
  plan::Caller caller;
  caller.root = machine::runs_as_root();
  caller.uid = machine::user_id();
  caller.words = {"headroom", "reclaim", "--gpu", pci};
  caller.elsewhere = typed.root != "/";
  const auto add = [&caller](const std::string& option, const std::string& value) {
    caller.words.push_back(option);
    caller.words.push_back(value);
  };
  if (typed.plan.free) add("--free", shell_quote(typed.free));
  if (typed.plan.grace_s != plan::ReclaimOptions{}.grace_s) {
    add("--grace", std::to_string(typed.plan.grace_s));
  }
  return caller;
}

// A plan for every GPU that is meant. What is named must hold something on one of them.
Result<std::vector<plan::ReclaimPlan>> make_plans(const Typed& typed, const Look& look,
                                                  const knowledge::GpuTables& tables) {
  auto meant = facts::find_gpus(look.facts, typed.gpu);
  if (!meant) {
    Error error = std::move(meant).error();
    error.next = join(make_caller(typed, look.facts.gpus.front().pci).words, " ");
    return error;
  }
  std::vector<plan::ReclaimPlan> plans;
  std::optional<Error> refused;
  for (const facts::Gpu* gpu : *meant) {
    const plan::Caller caller = make_caller(typed, gpu->pci);
    auto plan =
        plan::plan_reclaim({look.facts, look.occupancy, tables, typed.plan, caller}, gpu->pci);
    if (plan) {
      plans.push_back(*std::move(plan));
    } else if (!refused || refused->code == Errc::unsupported) {
      refused = std::move(plan).error();
    }
  }
  if (!plans.empty()) return plans;
  if (refused) return *std::move(refused);
  return Error{Errc::not_found, "expected an AMD GPU, found none", "headroom check"};
}

// No job finds memory there, although nothing is left of the dead and nobody was chosen.
bool is_full(const plan::ReclaimPlan& plan) {
  return !plan.options.free &&
         findings::share(plan.now.used, plan.now.capacity) >= findings::full_share;
}

int print_dry_run(const Typed& typed, std::vector<plan::ReclaimPlan> plans,
                  const Context& context) {
  bool enough = true;
  std::vector<report::Reclaimed> shown;
  for (plan::ReclaimPlan& plan : plans) {
    const bool held_on_host = plan.for_host && !plan.now.holders.empty();
    enough = enough && plan::is_enough(plan, plan.now) && !held_on_host && !is_full(plan) &&
             plan::refused_choices(plan).empty();
    shown.push_back({std::move(plan), std::nullopt});
  }
  const report::Style style{machine::stdout_shows_colour(), machine::stdout_width()};
  if (typed.json) {
    context.printer.print_json(report::to_json(shown));
  } else {
    const auto detail = typed.verbose ? report::PlanDetail::verbose : report::PlanDetail::brief;
    for (std::size_t i = 0; i < shown.size(); ++i) {
      const plan::ReclaimPlan* before = i == 0 ? nullptr : &shown[i - 1].plan;
      context.printer.print((i == 0 ? "" : "\n") +
                            report::to_text(shown[i].plan, detail, style, before));
    }
    const bool is_for_host =
        std::any_of(shown.begin(), shown.end(), [](const auto& one) { return one.plan.for_host; });
    if (is_for_host) {
      const std::string next =
          report::next_line(report::for_root("headroom check", typed.root),
                            "(in this container, when you are done on the host)", style);
      context.printer.print("\n" + report::fit(next, style.width));
    }
  }
  return enough ? exit_ok : exit_findings;
}

int apply(const Typed& typed, const plan::ReclaimPlan& plan, reclaim::Kernel& kernel,
          const Context& context) {
  context.printer.finish_first();
  const report::Style style{machine::stdout_shows_colour(), machine::stdout_width()};
  reclaim::OnRung on_rung;
  if (!typed.json) {
    context.printer.print(report::to_text(plan, report::PlanDetail::applied, style) + "\n");
    on_rung = [&style, &context](const plan::RungDone& done) {
      context.printer.print(report::to_text(done, style));
    };
  }
  const plan::ReclaimOutcome outcome = reclaim::carry_out(plan, kernel, on_rung);
  if (typed.json) {
    context.printer.print_json(report::to_json(std::vector<report::Reclaimed>{{plan, outcome}}));
  } else {
    context.printer.print(report::to_text(plan, outcome, style));
  }
  switch (outcome.end) {
    case plan::ReclaimEnd::nothing_to_do:
    case plan::ReclaimEnd::enough:
      return exit_ok;
    case plan::ReclaimEnd::not_enough:
    case plan::ReclaimEnd::for_host:
    case plan::ReclaimEnd::broken_off:
      break;
  }
  return exit_findings;
}

// One that was named and is never ended, or not without more.
Error cannot_end(const plan::ReclaimPlan& plan, const plan::Spared& refused) {
  const auto next = report::next_commands(plan, nullptr);
  return Error{Errc::invalid, plan::why_refused(refused) + " Nothing was done.",
               next.empty() ? "headroom reclaim --gpu " + plan.pci : next.front()};
}

Result<const plan::ReclaimPlan*> only_one(const std::vector<plan::ReclaimPlan>& plans) {
  std::vector<const plan::ReclaimPlan*> open;
  std::vector<std::string> there;
  for (const plan::ReclaimPlan& plan : plans) {
    for (const plan::Spared& refused : plan::refused_choices(plan))
      return cannot_end(plan, refused);
    if (plan::is_enough(plan, plan.now)) continue;
    open.push_back(&plan);
    there.push_back(plan.pci);
  }
  if (open.size() <= 1) return open.empty() ? &plans.front() : open.front();
  // The same choice, on the first of them.
  const auto next = report::next_commands(*open.front(), nullptr);
  return Error{Errc::invalid,
               "--apply acts on one GPU, and there is something to do on " + join(there, ", "),
               next.empty() ? "headroom reclaim --gpu " + there.front() : next.front()};
}

int run_reclaim(Typed typed, const Context& context) {
  const auto could_not_look = [&typed, &context](Error error) {
    if (typed.root != "/") error = std::move(error).in("looking at " + typed.root);
    if (error.next.empty()) error.next = "headroom reclaim --help";
    return print_error(context, error, exit_could_not_look);
  };
  if (const Status status = read_options(typed); !status) {
    return print_error(context, status.error(), exit_usage);
  }
  const auto tables = knowledge::load_gpu_tables();
  if (!tables) return could_not_look(tables.error());
  const auto root = machine::open_root(typed.root);
  if (!root) return could_not_look(root.error());
  const auto seen = look(root->files, *tables, context);
  if (!seen) return could_not_look(seen.error());
  auto plans = make_plans(typed, *seen, *tables);
  if (!plans) {
    const bool usage = plans.error().code == Errc::invalid;
    return usage ? print_error(context, plans.error(), exit_usage) : could_not_look(plans.error());
  }
  // From inside a container there is nothing to apply: the plan is the host's.
  if (!typed.apply || plans->front().for_host)
    return print_dry_run(typed, *std::move(plans), context);
  const auto plan = only_one(*plans);
  if (!plan) return print_error(context, plan.error(), exit_usage);
  const auto measure = [&]() -> Result<plan::Measurement> {
    HEADROOM_TRY(const Look now, look(root->files, *tables, context));
    return plan::measure(now.facts, now.occupancy, (*plan)->pci);
  };
  const auto kernel = reclaim::make_system_kernel(typed.root, measure);
  if (!kernel) return could_not_look(kernel.error());
  return apply(typed, **plan, **kernel, context);
}

// Those that headroom takes itself, from gentle to harsh: "name|ask|insist".
std::string rungs() {
  std::vector<std::string> names;
  for (const plan::Rung rung : plan::all_rungs) {
    if (rung != plan::Rung::reboot) names.emplace_back(to_string(rung));
  }
  return join(names, "|");
}

}  // namespace

void add_reclaim(CLI::App& app, Context& context) {
  auto typed = std::make_shared<Typed>();
  CLI::App* command = app.add_subcommand(
      "reclaim",
      "Get GPU memory back from dead or forgotten processes, by the gentlest way that works");
  command
      ->add_option("--gpu", typed->gpu,
                   "The GPU, by its PCI address (0c:00.0), its HIP index, or its name")
      ->type_name("GPU");
  command
      ->add_option("--free", typed->free,
                   "Stop as soon as this much is free (default: when the chosen and the dead "
                   "processes hold nothing)")
      ->type_name("SIZE");
  command->add_option("--pid", typed->plan.pids, "End this process; may be repeated")
      ->type_name("PID")
      ->allow_extra_args(false);
  command
      ->add_option("--container", typed->plan.containers,
                   "End the processes of this container that hold memory")
      ->type_name("ID")
      ->allow_extra_args(false);
  command
      ->add_option("--unit", typed->plan.units,
                   "End the processes of this systemd unit that hold memory")
      ->type_name("UNIT")
      ->allow_extra_args(false);
  command->add_flag("--all", typed->plan.all,
                    "End every process that holds memory, except those of the desktop");
  command->add_flag("--include-desktop", typed->plan.include_desktop,
                    "Allow headroom to end the desktop, with everything that runs in it");
  command
      ->add_option("--up-to", typed->up_to,
                   "The harshest step that may be taken, from gentle to harsh (default: ask, which "
                   "sends SIGTERM)")
      ->type_name(rungs());
  command
      ->add_option("--grace", typed->plan.grace_s,
                   "How long to wait for a process to end after it was asked (default: 10)")
      ->type_name("SECONDS")
      ->check(CLI::Range(1, 3600));
  auto* verbose = command->add_flag("--verbose,-v", typed->verbose,
                                    "Describe every step, also those that would not be taken");
  command->add_flag("--apply", typed->apply, "Do it; without this option nothing is changed");
  command
      ->add_option("--root", typed->root,
                   "Show the plan for a captured machine, as for headroom check --root")
      ->type_name("PATH");
  command->add_flag("--json", typed->json, "Print JSON (headroom.reclaim/1)")->excludes(verbose);
  command->footer(
      "headroom ends only processes that you chose, and workers whose parent has died.\n\n"
      "Exit: 0 done, or there is nothing to do for what was chosen, 1 the chosen or the dead still "
      "hold memory, 2 wrong usage, 3 could not look.\n\n"
      "Examples:\n"
      "  headroom reclaim                             who holds memory, and the command for each "
      "choice\n"
      "  headroom reclaim --pid 9340 --apply          ask one process to end, wait, measure\n"
      "  headroom reclaim --up-to wait-kfd --apply    wait until the driver has released the "
      "dead");
  command->callback([typed, &context] { context.exit_code = run_reclaim(*typed, context); });
}

}  // namespace headroom::cli
