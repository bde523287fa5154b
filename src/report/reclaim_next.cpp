// SPDX-License-Identifier: Apache-2.0
// What to type after a reclaim or its dry run: the command for each choice, with sudo where it
// takes that.
#include <fmt/format.h>

#include <algorithm>

#include "base/shell_quote.h"
#include "base/text.h"
#include "report/reclaim_text.h"

namespace headroom::report {
namespace {

using plan::Rung;

std::string start(const plan::ReclaimPlan& plan, bool root) {
  const std::string words =
      plan.caller.words.empty() ? "headroom reclaim" : shell_line(plan.caller.words);
  return (root && !plan.caller.root ? "sudo " : "") + words;
}

// What was typed, except the words in `without`.
std::string choice_of(const plan::ReclaimOptions& options,
                      const std::vector<plan::Spared>& without = {}) {
  std::vector<std::string> typed;
  for (const std::uint64_t pid : options.pids) typed.push_back(fmt::format("--pid {}", pid));
  for (const std::string& one : options.containers) {
    typed.push_back(shell_option("--container", one));
  }
  for (const std::string& one : options.units) typed.push_back(shell_option("--unit", one));
  if (options.all) typed.emplace_back("--all");
  std::string words;
  for (const std::string& word : typed) {
    const bool left_out = std::any_of(without.begin(), without.end(),
                                      [&](const plan::Spared& one) { return one.named == word; });
    if (!left_out) words += " " + word;
  }
  if (options.include_desktop) words += " --include-desktop";
  return words;
}

std::string up_to(Rung rung) {
  return rung == Rung::ask ? "" : fmt::format(" --up-to {}", plan::to_string(rung));
}

bool any_needs_root(const plan::ReclaimPlan& plan, Rung rung) {
  return std::any_of(plan.rungs.begin(), plan.rungs.end(), [&](const plan::RungPlan& one) {
    return one.rung <= rung && one.needs_root && one.cannot.empty();
  });
}

// The first rung beyond `last` that can work here; nothing but a reboot is left without one.
Rung first_after(const plan::ReclaimPlan& plan, Rung last) {
  for (const plan::RungPlan& rung : plan.rungs) {
    if (rung.rung > last && rung.cannot.empty()) return rung.rung;
  }
  return Rung::reboot;
}

std::string harsher(const plan::ReclaimPlan& plan, Rung last) {
  const Rung next = first_after(plan, last);
  if (next == Rung::reboot) return "sudo systemctl reboot";
  return fmt::format("{}{}{} --apply", start(plan, any_needs_root(plan, next)),
                     choice_of(plan.options), up_to(next));
}

// Proposals, where nobody has been chosen yet: a choice that was made is never added to.
void add_choices(const plan::ReclaimPlan& plan, std::vector<std::string>& commands) {
  if (plan::names_any(plan.options)) return;
  std::vector<std::string> seen;
  for (const plan::Spared& spared : plan.spared) {
    if (spared.choose.empty()) continue;
    const bool known = std::find(seen.begin(), seen.end(), spared.choose) != seen.end();
    if (known || spared.of_desktop) continue;
    seen.push_back(spared.choose);
    const Rung last = plan.options.up_to;
    const bool root = spared.needs_root || any_needs_root(plan, last);
    commands.push_back(fmt::format("{}{} {}{} --apply", start(plan, root), choice_of(plan.options),
                                   spared.choose, up_to(last)));
  }
}

// Where a named one is left alone, nothing is applied: first the same with what allows it, to be
// looked at, then what was chosen beside it.
std::vector<std::string> after_refusal(const plan::ReclaimPlan& plan,
                                       const std::vector<plan::Spared>& refused) {
  std::vector<std::string> commands;
  const bool all_desktop = std::all_of(refused.begin(), refused.end(),
                                       [](const plan::Spared& one) { return one.of_desktop; });
  const Rung last = plan.options.up_to;
  if (all_desktop) {
    commands.push_back(start(plan, false) + choice_of(plan.options) + " --include-desktop" +
                       up_to(last));
  }
  const std::string others = choice_of(plan.options, refused);
  if (!plan.targets.empty() && !others.empty()) {
    commands.push_back(fmt::format("{}{}{} --apply", start(plan, any_needs_root(plan, last)),
                                   others, up_to(last)));
  }
  return commands;
}

}  // namespace

std::vector<std::string> next_commands(const plan::ReclaimPlan& plan,
                                       const plan::ReclaimOutcome* outcome) {
  std::vector<std::string> commands;
  if (plan.for_host) return commands;
  if (outcome != nullptr) {
    if (outcome->end == plan::ReclaimEnd::broken_off) return {"sudo dmesg", "headroom check"};
    if (outcome->end != plan::ReclaimEnd::not_enough) return {};
    commands.push_back(harsher(plan, plan.options.up_to));
    add_choices(plan, commands);
    return commands;
  }
  const auto refused = plan::refused_choices(plan);
  if (!refused.empty()) return after_refusal(plan, refused);
  const bool enough = plan::is_enough(plan, plan.now);
  if (enough && (plan.spared.empty() || plan.options.free)) return {};
  const Rung last = plan.options.up_to;
  const bool acts = std::any_of(plan.rungs.begin(), plan.rungs.end(), [](const auto& rung) {
    return rung.within && rung.rung != Rung::name && rung.cannot.empty();
  });
  if (acts && !plan::is_enough(plan, plan.now)) {
    commands.push_back(fmt::format("{}{}{} --apply", start(plan, any_needs_root(plan, last)),
                                   choice_of(plan.options), up_to(last)));
  } else if (!plan::is_enough(plan, plan.now) && plan.spared.empty()) {
    commands.push_back(harsher(plan, last));
  }
  add_choices(plan, commands);
  if (!plan.dead.empty() && !acts && commands.empty()) commands.push_back(harsher(plan, last));
  return commands;
}

}  // namespace headroom::report
