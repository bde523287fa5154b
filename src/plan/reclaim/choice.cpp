// SPDX-License-Identifier: Apache-2.0
#include "plan/reclaim/choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/shell_quote.h"
#include "base/text.h"
#include "plan/reclaim/protected.h"

namespace headroom::plan {
namespace {

constexpr std::size_t shortest_id = 4;  // Fewer digits of a container's id name too many.

bool names_container(const std::string& word, const Held& held) {
  if (held.container.empty() || word.empty()) return false;
  const bool start = word.size() >= shortest_id &&
                     (held.container.starts_with(word) || word.starts_with(held.container));
  return word == held.container || start;
}

bool names_unit(const std::string& word, const Held& held) {
  return !held.unit.empty() && (held.unit == word || held.unit == word + ".service");
}

// Which of the words on the command line means this holder; empty: none.
std::string named_by(const ReclaimOptions& options, const Held& held) {
  if (std::find(options.pids.begin(), options.pids.end(), held.pid) != options.pids.end()) {
    return fmt::format("--pid {}", held.pid);
  }
  for (const std::string& word : options.containers) {
    if (names_container(word, held)) return shell_option("--container", word);
  }
  for (const std::string& word : options.units) {
    if (names_unit(word, held)) return shell_option("--unit", word);
  }
  return options.all ? "--all" : "";
}

std::string way_to_choose(const Held& held) {
  if (!held.container.empty()) return shell_option("--container", held.container);
  if (held.unit.ends_with(".service") && !is_vital_unit(held.unit)) {
    return shell_option("--unit", held.unit);
  }
  return fmt::format("--pid {}", held.pid);
}

std::string short_name(const Held& held) {
  return fmt::format("{} (PID {})", held.command.empty() ? "?" : held.command, held.pid);
}

// What is named holds memory, but of another GPU. Nothing: it holds none anywhere.
template <class IsMeant>
std::optional<Error> held_elsewhere(const ReclaimSubject& subject, const std::string& pci,
                                    const std::string& named, IsMeant is_meant) {
  for (const facts::Gpu& gpu : subject.facts.gpus) {
    if (gpu.pci == pci) continue;
    const auto there = measure(subject.facts, subject.occupancy, gpu.pci);
    if (!there) continue;
    for (const Held& held : there->holders) {
      if (!is_meant(held)) continue;
      return Error{Errc::invalid,
                   fmt::format("{}: expected a holder of memory on {}; {} holds {} on {}", named,
                               pci, short_name(held), to_string(held.bytes), gpu.pci),
                   fmt::format("headroom reclaim --gpu {} {}", gpu.pci, named)};
    }
  }
  return std::nullopt;
}

template <class Word, class Means>
Status check_words(const ReclaimSubject& subject, const ReclaimPlan& plan,
                   const std::vector<Word>& words, std::string_view option, Means means) {
  for (const Word& word : words) {
    const auto is_meant = [&](const Held& held) { return means(word, held); };
    const auto& holders = plan.now.holders;
    if (std::any_of(holders.begin(), holders.end(), is_meant)) continue;
    const std::string named = shell_option(option, fmt::format("{}", word));
    if (auto elsewhere = held_elsewhere(subject, plan.pci, named, is_meant))
      return *std::move(elsewhere);
    std::vector<std::string> names;
    for (const Held& held : holders) names.push_back(short_name(held));
    const auto& typed = subject.caller.words;
    return Error{Errc::invalid,
                 fmt::format("{}: expected a holder of memory on {}; there {}", named, plan.pci,
                             names.empty() ? "is none" : "are " + join(names, ", ")),
                 typed.empty() ? "headroom reclaim --gpu " + plan.pci : shell_line(typed)};
  }
  return Done{};
}

Status check_named(const ReclaimSubject& subject, const ReclaimPlan& plan) {
  const ReclaimOptions& options = subject.options;
  HEADROOM_CHECK(check_words(subject, plan, options.pids, "--pid",
                             [](std::uint64_t pid, const Held& held) { return held.pid == pid; }));
  HEADROOM_CHECK(check_words(subject, plan, options.containers, "--container", names_container));
  return check_words(subject, plan, options.units, "--unit", names_unit);
}

bool belongs_to_another(const facts::Occupant* occupant, const Caller& caller) {
  if (caller.root) return false;
  return occupant == nullptr || !occupant->uid || *occupant->uid != caller.uid;
}

void choose(const ReclaimSubject& subject, const Held& held, ReclaimPlan& plan) {
  if (held.whereabouts == facts::Whereabouts::gone) {
    plan.dead.push_back(held);
    return;
  }
  if (held.whereabouts == facts::Whereabouts::outside) {
    plan.spared.push_back({held, "this user cannot see it; root sees every process", "", true});
    return;
  }
  const facts::Occupant* occupant = subject.occupancy.find(held.pid);
  const bool foreign = belongs_to_another(occupant, subject.caller);
  const std::string word = named_by(subject.options, held);
  if (const auto protection = protection_of(held, subject); protection != Protection::none) {
    const bool desktop = protection == Protection::desktop;
    plan.spared.push_back({held, std::string(to_string(protection)),
                           desktop ? way_to_choose(held) + " --include-desktop" : "", foreign,
                           desktop, word == "--all" ? "" : word});
    return;
  }
  const bool left_behind = occupant != nullptr && occupant->left_behind;
  if (word.empty() && !left_behind) {
    plan.spared.push_back({held, "it is running and was not chosen", way_to_choose(held), foreign});
    return;
  }
  Target target;
  target.held = held;
  target.left_behind = word.empty();
  target.why = target.left_behind ? "a worker whose parent is gone" : "named by " + word;
  target.needs_root = foreign;
  if (occupant != nullptr && occupant->stat) target.state = occupant->stat->state;
  plan.targets.push_back(std::move(target));
}

}  // namespace

Status choose_targets(const ReclaimSubject& subject, ReclaimPlan& plan) {
  HEADROOM_CHECK(check_named(subject, plan));
  for (const Held& held : plan.now.holders) choose(subject, held, plan);
  // Who was left behind goes first: nobody misses it.
  std::stable_sort(plan.targets.begin(), plan.targets.end(), [](const Target& a, const Target& b) {
    return a.left_behind && !b.left_behind;
  });
  for (const Client& client : plan.now.clients) {
    const bool holds = std::any_of(plan.now.holders.begin(), plan.now.holders.end(),
                                   [&](const Held& held) { return held.pid == client.pid; });
    if (!holds) plan.suspects.push_back(client);
  }
  return Done{};
}

bool names_any(const ReclaimOptions& options) {
  return options.all || !options.pids.empty() || !options.containers.empty() ||
         !options.units.empty();
}

std::vector<Spared> refused_choices(const ReclaimPlan& plan) {
  std::vector<Spared> refused;
  std::copy_if(plan.spared.begin(), plan.spared.end(), std::back_inserter(refused),
               [](const Spared& one) { return !one.named.empty(); });
  return refused;
}

std::string why_refused(const Spared& spared) {
  const std::string why =
      fmt::format("{} names {} (PID {}), which is left alone: {}.", spared.named,
                  spared.held.command, spared.held.pid, spared.why);
  return why + (spared.of_desktop
                    ? " Everything that runs in it would end with it. To end it all the same, add "
                      "--include-desktop."
                    : " headroom never ends it.");
}

}  // namespace headroom::plan
