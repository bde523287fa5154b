// SPDX-License-Identifier: Apache-2.0
#include "report/reclaim_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "plan/reclaim/names.h"

namespace headroom::report {
namespace {

using plan::Contents;
using plan::Rung;
using Row = std::vector<std::string>;

std::string place_of(const plan::Held& held) {
  if (held.whereabouts == facts::Whereabouts::gone) return "dead; the driver has not released it";
  if (held.whereabouts == facts::Whereabouts::outside) return "not visible";
  if (!held.container.empty()) {
    return (held.engine.empty() ? "container" : held.engine) + " " + held.container;
  }
  return held.unit;
}

std::string fate_of(const plan::ReclaimPlan& plan, const plan::Held& held) {
  for (const plan::Target& target : plan.targets) {
    if (target.held.pid == held.pid) return "chosen: " + target.why;
  }
  for (const plan::Spared& spared : plan.spared) {
    if (spared.held.pid != held.pid) continue;
    return (spared.named.empty() ? "" : "named by " + spared.named + ", ") +
           "left alone: " + spared.why;
  }
  return plan.for_host ? "on the host" : "";
}

std::string holders(const plan::ReclaimPlan& plan, const Style& style) {
  std::vector<Row> rows{{"held by", "PID", "user", "holds", "where", ""}};
  for (const plan::Held& held : plan.now.holders) {
    rows.push_back({held.command.empty() ? "?" : printable(held.command), std::to_string(held.pid),
                    printable(held.user), to_string(held.bytes), printable(place_of(held)),
                    printable(fate_of(plan, held))});
  }
  if (rows.size() == 1) return "  No visible process holds any of it.\n";
  const auto lines =
      table(rows, {Align::left, Align::right, Align::left, Align::right, Align::left, Align::left},
            2, style.width);
  std::string text;
  for (const TableLine& line : lines) {
    text += (line.row == 0 ? style.dim(line.text) : line.text) + "\n";
  }
  return text;
}

std::string heading(const plan::ReclaimPlan& plan, const Style& style) {
  const plan::Measurement& now = plan.now;
  std::string text =
      style.bold(fmt::format("{} at {}: {} of {} in use, {} free", printable(plan.title), plan.pci,
                             to_string(now.used), to_string(now.capacity), to_string(now.free()))) +
      "\n";
  if (const auto missing = plan::shortage(plan, now)) {
    text += missing->value == 0 ? fmt::format("{} are wanted, and that much is free already.\n",
                                              to_string(*plan.options.free))
                                : fmt::format("{} are wanted, {} more than is free.\n",
                                              to_string(*plan.options.free), to_string(*missing));
  }
  return text + "\n";
}

void add_row(std::string& text, std::string_view name, const std::string& what,
             const Style& style) {
  if (what.empty()) return;
  text += fold(printable(what), fmt::format("      {:<9}", name), style.width);
}

std::string_view contents_text(const plan::RungPlan& rung) {
  const bool all = rung.rung == Rung::module_reload;
  switch (rung.contents) {
    case Contents::untouched:
      return "";
    case Contents::kept:
      return "the contents of the GPU's memory are kept";
    case Contents::lost:
      return all ? "everything in the memory of all AMD GPUs is lost"
                 : "everything in the GPU's memory is lost";
    case Contents::unknown:
      break;
  }
  return "headroom does not know whether this GPU's memory is lost";
}

std::string describe(const plan::RungPlan& rung, const Style& style) {
  std::string text = "  " + style.bold(plan::to_string(rung.rung));
  if (!rung.cannot.empty()) text += style.yellow("   not possible here");
  text += "\n";
  text += fold(printable(rung.what), "      ", style.width);
  add_row(text, "because", rung.cannot, style);
  if (rung.cannot.empty()) {
    add_row(text, "ends", rung.dies, style);
    add_row(text, "with it", rung.dies_too, style);
  }
  add_row(text, "memory", std::string(contents_text(rung)), style);
  add_row(text, "desktop", rung.desktop, style);
  for (std::size_t i = 0; i < rung.commands.size(); ++i) {
    add_row(text, i == 0 ? "by hand" : "", rung.commands[i], style);
  }
  return text;
}

// One that is possible, or why it is not: of those that --apply takes, where not all is told.
std::string describe_briefly(const plan::RungPlan& rung, const Style& style) {
  if (rung.cannot.empty()) return describe(rung, style);
  const std::string name = "  " + style.bold(plan::to_string(rung.rung));
  return fold(printable(rung.cannot), name + style.yellow("   not possible here: "), style.width);
}

// What the brief text leaves out; of what is not possible the reason, since some have a remedy.
std::string names_of_harsher(const plan::ReclaimPlan& plan, const Style& style) {
  std::vector<std::string> possible;
  std::vector<std::pair<std::string, std::vector<std::string>>> impossible;
  for (const plan::RungPlan& rung : plan.rungs) {
    if (rung.within || rung.rung == Rung::reboot) continue;
    const std::string name(plan::to_string(rung.rung));
    if (rung.cannot.empty()) {
      possible.push_back(name);
    } else if (!impossible.empty() && impossible.back().first == rung.cannot) {
      impossible.back().second.push_back(name);
    } else {
      impossible.emplace_back(rung.cannot, std::vector{name});
    }
  }
  std::string text;
  if (!possible.empty()) {
    text += fold(join(possible, ", "), "Harsher steps, only with --up-to STEP: ", style.width);
  }
  if (!impossible.empty()) text += "Not possible here:\n";
  for (const auto& [why, names] : impossible) {
    text += fold(printable(why), "  " + join(names, ", ") + ": ", style.width);
  }
  return text.empty() ? text : text + style.dim("--verbose says what each of them does.") + "\n";
}

std::string describe_rungs(const plan::ReclaimPlan& plan, PlanDetail detail, const Style& style) {
  std::string text =
      detail == PlanDetail::applied     ? "Steps to take, in this order, until enough is free:\n"
      : plan::is_enough(plan, plan.now) ? "Steps for what is chosen, in this order:\n"
                                        : "Steps that --apply would take, in this order, until "
                                          "enough is free:\n";
  bool within = true;
  for (const plan::RungPlan& rung : plan.rungs) {
    const bool shown = detail == PlanDetail::verbose || rung.within;
    // Who holds the memory stands above already.
    const bool said = detail == PlanDetail::brief && rung.rung == Rung::name;
    if (!shown || said) continue;
    if (within && !rung.within) text += "\nHarsher steps, taken only with --up-to STEP:\n";
    within = rung.within;
    text += detail == PlanDetail::brief ? describe_briefly(rung, style) : describe(rung, style);
  }
  if (detail == PlanDetail::brief) {
    if (plan.options.up_to == Rung::name) text = "--apply would only name the holders.\n";
    const std::string more = names_of_harsher(plan, style);
    return more.empty() ? text : text + "\n" + more;
  }
  if (plan.refused.empty() || detail == PlanDetail::applied) return text;
  text += "\nNever done:\n";
  for (const plan::RefusedWay& way : plan.refused) {
    text += fold(printable(fmt::format("{} ({}): {}.", way.name, way.command, way.rule)), "  ",
                 style.width);
  }
  return text;
}

bool same_host_steps(const plan::ReclaimPlan& plan, const plan::ReclaimPlan* before) {
  return before != nullptr && before->for_host &&
         std::equal(plan.host_steps.begin(), plan.host_steps.end(), before->host_steps.begin(),
                    before->host_steps.end(),
                    [](const auto& a, const auto& b) { return a.what == b.what; });
}

// `first` stands in front of the first command.
std::string commands_of(const plan::HostStep& step, std::string_view first = "       ") {
  std::string text;
  for (const std::string& command : step.commands) {
    text += std::string(text.empty() ? first : "       ") + keep_whole(printable(command)) + "\n";
  }
  return text;
}

// The commands that differ from those of the same step before.
std::string describe_other_commands(const plan::ReclaimPlan& plan,
                                    const plan::ReclaimPlan& before) {
  std::string text = "On the host, the steps above with this GPU's commands:\n";
  for (std::size_t i = 0; i < plan.host_steps.size(); ++i) {
    const plan::HostStep& step = plan.host_steps[i];
    if (step.commands == before.host_steps[i].commands) continue;
    text += commands_of(step, fmt::format("  {}.   ", i + 1));
  }
  return text;
}

std::string describe_host(const plan::ReclaimPlan& plan, const plan::ReclaimPlan* before,
                          const Style& style) {
  if (same_host_steps(plan, before)) return describe_other_commands(plan, *before);
  std::string text = fold(
      "This is a container. Processes outside it hold the memory, and the driver belongs to the "
      "host, so headroom does nothing from here. On the host:",
      "", style.width);
  int number = 0;
  for (const plan::HostStep& step : plan.host_steps) {
    text += fold(step.what, fmt::format("  {}. ", ++number), style.width) + commands_of(step);
  }
  return text;
}

std::string suspects(const plan::ReclaimPlan& plan, const Style& style) {
  const bool dead = plan.now.dead().value > 0 || (plan.now.unowned && plan.now.unowned->value > 0);
  if (!dead || plan.suspects.empty()) return "";
  std::vector<std::string> names;
  for (const plan::Client& client : plan.suspects) names.push_back(plan::name_of(client));
  return fold(printable("Suspects: " + join(names, ", ") +
                        ". They hold no memory themselves, but have the GPU open and may keep the "
                        "memory of dead processes. Stop them by hand."),
              "  ", style.width);
}

std::string next_lines(const plan::ReclaimPlan& plan, const std::vector<std::string>& commands,
                       std::string_view remark, const Style& style) {
  if (commands.empty()) return "";
  std::string text = "\n";
  const std::string first =
      (plan.caller.elsewhere ? "on that machine: " : "") + printable(commands.front());
  if (commands.size() == 1) return text + next_line(first, remark, style);
  text += next_line(first, "", style);
  for (std::size_t i = 1; i < commands.size(); ++i) {
    text += "  or: " + style.bold(keep_whole(printable(commands[i]))) + "\n";
  }
  return remark.empty() ? text : text + fold(remark, "      ", style.width);
}

std::string time_of(std::uint64_t ms) {
  return fmt::format("{:>7.1f} s", static_cast<double>(ms) / 1000.0);
}

}  // namespace

std::string to_text(const plan::RungDone& done, const Style& style) {
  std::string first =
      fmt::format("{}  {:<15}", time_of(done.started_ms), plan::to_string(done.rung));
  std::vector<std::string> lines = done.did;
  if (!done.skipped.empty()) lines = {"not taken: " + done.skipped};
  const bool told = std::find(lines.begin(), lines.end(), done.failed) != lines.end();
  if (!done.failed.empty() && !told) lines.push_back("failed: " + done.failed);
  if (done.freed && done.rung != Rung::name) lines.push_back("freed " + to_string(*done.freed));
  std::string text;
  for (const std::string& line : lines) {
    text += fold(printable(line), first, style.width);
    first = std::string(first.size(), ' ');
  }
  return fit(text, style.width);
}

namespace {

std::string verdict(const plan::ReclaimPlan& plan, const plan::ReclaimOutcome& outcome,
                    const Style& style) {
  const std::string free = outcome.after
                               ? fmt::format("{} of {} are free", to_string(outcome.after->free()),
                                             to_string(outcome.after->capacity))
                               : "";
  switch (outcome.end) {
    case plan::ReclaimEnd::nothing_to_do:
      return style.green("Nothing to do: " + free + ".") + "\n";
    case plan::ReclaimEnd::enough:
      return style.green("Done: " + free + ".") + "\n";
    case plan::ReclaimEnd::broken_off:
      return style.red("Broken off: " + printable(outcome.why)) + "\n";
    case plan::ReclaimEnd::for_host:
      return "";
    case plan::ReclaimEnd::not_enough:
      break;
  }
  return style.yellow(fmt::format("Not enough: {}, after all steps up to {}.", free,
                                  plan::to_string(plan.options.up_to))) +
         "\n";
}

// What ends with the chosen ones, beside the command that ends them.
std::string ends_too(const plan::ReclaimPlan& plan) {
  for (const plan::RungPlan& rung : plan.rungs) {
    if (!rung.within || !rung.cannot.empty() || rung.dies_too.empty()) continue;
    return fmt::format("(this ends {}, and with it {})", rung.dies, rung.dies_too);
  }
  return "";
}

// Why --apply would do nothing.
std::string_view why_nothing(const plan::ReclaimPlan& plan) {
  if (plan.spared.empty()) return "Nothing to reclaim.";
  if (plan.options.free) return "Enough is free, so no process has to end.";
  if (plan::names_any(plan.options)) {
    return "Nothing to reclaim: what holds memory here is left alone, for the reason beside it.";
  }
  return "No dead process holds memory here, and no running one was chosen, so --apply by itself "
         "would do nothing.";
}

}  // namespace

std::string to_text(const plan::ReclaimPlan& plan, PlanDetail detail, const Style& style,
                    const plan::ReclaimPlan* before) {
  std::string text = heading(plan, style) + holders(plan, style);
  text += suspects(plan, style);
  for (const std::string& note : plan.notes) text += fold(printable(note), "  ", style.width);
  text += "\n";
  if (plan.for_host) return fit(text + describe_host(plan, before, style), style.width);
  const bool enough = plan::is_enough(plan, plan.now);
  const auto refused = plan::refused_choices(plan);
  for (const plan::Spared& one : refused) {
    text += fold(printable(plan::why_refused(one)), "", style.width);
  }
  if (!refused.empty()) {
    // --apply is refused, so there are no steps that it would take.
  } else if (enough) {
    text += fold(why_nothing(plan), "", style.width);
    if (detail == PlanDetail::verbose) text += "\n" + describe_rungs(plan, detail, style);
  } else {
    text += describe_rungs(plan, detail, style);
  }
  if (detail == PlanDetail::applied) return fit(text, style.width);
  const std::string remark =
      !refused.empty() ? "(shows who would end with it; nothing is done yet)"
      : enough
          ? "(asks the chosen processes to end: what they have not saved is lost; without --apply "
            "it shows the steps)"
          : ends_too(plan);
  return fit(text + next_lines(plan, next_commands(plan, nullptr), remark, style), style.width);
}

std::string to_text(const plan::ReclaimPlan& plan, const plan::ReclaimOutcome& outcome,
                    const Style& style) {
  const std::string text = "\n" + verdict(plan, outcome, style);
  return fit(text + next_lines(plan, next_commands(plan, &outcome), "", style), style.width);
}

}  // namespace headroom::report
