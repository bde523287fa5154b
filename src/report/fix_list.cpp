// SPDX-License-Identifier: Apache-2.0
#include "report/fix_list.h"

#include <fmt/format.h>

#include "base/document.h"
#include "base/text.h"
#include "report/cause_text.h"

namespace headroom::report {
namespace {

using plan::Standing;

std::string command_of(const plan::Fix& fix) {
  return fmt::format("headroom fix {}", fix.id);
}

std::vector<const plan::Fix*> of_standing(const std::vector<ListedFix>& fixes, Standing standing) {
  std::vector<const plan::Fix*> found;
  for (const ListedFix& listed : fixes) {
    if (listed.outlook.standing == standing) found.push_back(listed.fix);
  }
  return found;
}

// One folded line of names; empty where there are none.
std::string names_text(std::string_view title, const std::vector<const plan::Fix*>& fixes,
                       const Style& style) {
  std::vector<std::string> ids;
  for (const plan::Fix* fix : fixes) ids.emplace_back(fix->id);
  if (ids.empty()) return "";
  return fold(fmt::format("{}: {}", title, join(ids, ", ")), "", style.width);
}

std::string entry_text(const plan::Fix& fix, const Style& style) {
  const std::string command = "    " + command_of(fix);
  std::string text = fold(fix.meaning, "  ", style.width);
  if (fix.takes.empty()) return text + command + "\n\n";
  const std::string options = fmt::format("[{}]", fix.takes);
  const bool fits = display_width(command) + 2 + display_width(options) <= style.width;
  if (fits) return text + command + "  " + style.dim(options) + "\n\n";
  return text + command + "\n" + style.dim(fold(options, "      ", style.width)) + "\n";
}

// What check found besides, that has a command of its own.
std::string found_too_text(const std::vector<ListedFix>& fixes, const Style& style,
                           const std::string& root) {
  std::string text;
  for (const ListedFix& listed : fixes) {
    const plan::Outlook& outlook = listed.outlook;
    if (!outlook.found || outlook.standing == Standing::needed || outlook.error) continue;
    text += fmt::format("  {}: {}\n", listed.fix->id,
                        keep_whole(for_root(command_of(*listed.fix), root)));
  }
  return text.empty() ? "" : style.bold("Also found here") + "\n" + text + "\n";
}

// What check found and no command of this list mends by itself, with the reason and the way.
std::string unmended_text(const std::vector<ListedFix>& fixes, const Style& style,
                          const std::string& root) {
  std::string text;
  for (const ListedFix& listed : fixes) {
    const plan::Outlook& outlook = listed.outlook;
    if (!outlook.found || outlook.standing == Standing::needed || !outlook.error) continue;
    std::string why = outlook.error->message;
    const std::string own = fmt::format("{}: ", listed.fix->id);
    if (why.starts_with(own)) why.erase(0, own.size());
    text += fold(printable(why), fmt::format("  {}: ", listed.fix->id), style.width);
    const std::string& next = outlook.error->next;
    if (!next.empty() && !next.starts_with("headroom fix   ")) {
      const bool is_command = next.starts_with("headroom ");
      text += fold(printable(is_command ? for_root(next, root) : next), "      -> ", style.width);
    }
  }
  return text.empty()
             ? ""
             : style.bold("Found here, but something else is needed first") + "\n" + text + "\n";
}

std::vector<const plan::Fix*> not_found(const std::vector<ListedFix>& fixes, Standing standing) {
  std::vector<const plan::Fix*> left;
  for (const ListedFix& listed : fixes) {
    if (listed.outlook.standing == standing && !listed.outlook.found) left.push_back(listed.fix);
  }
  return left;
}

bool mends_cause(const std::vector<const plan::Fix*>& needed, const findings::Diagnosis& found) {
  for (const plan::Fix* fix : needed) {
    if (found.cause && found.cause->id == fix->id) return true;
  }
  return false;
}

std::string next_text(const std::vector<const plan::Fix*>& needed,
                      const findings::Diagnosis& diagnosis, const facts::Facts& facts,
                      const Style& style, const std::string& root) {
  const Style plain{false, style.width};
  if (diagnosis.cause && !mends_cause(needed, diagnosis)) {
    const findings::NextCommand* command = mending_command(diagnosis, diagnosis.cause->id);
    // A fix of another name may be what mends it: "stack" of a wheel without the GPU's code.
    if (command != nullptr && !command->can_be_undone()) {
      return "\n" + mending_line(*command, facts.machine.in_container(), plain, root);
    }
    if (needed.empty()) {
      const std::string steps =
          "\n" + style.bold("What to do") + "\n" + steps_text(joined_steps(diagnosis), style);
      // Check's advice to look again when that is done would lead in a circle.
      return diagnosis.verdict == findings::Verdict::unsuitable
                 ? steps + "\n" + next_after_cause(diagnosis, facts, plain, root)
                 : steps;
    }
  }
  if (needed.empty()) {
    return "\n" + next_without_cause(diagnosis, facts, plain, root);
  }
  return "\n" + next_line(for_root(command_of(*needed.front()), root),
                          "(shows what it would do; --apply does it)", plain);
}

std::string heading(const std::vector<const plan::Fix*>& needed,
                    const findings::Diagnosis& diagnosis, bool stack, const Style& style) {
  std::string text;
  if (diagnosis.cause && !mends_cause(needed, diagnosis)) {
    text = fold(printable(diagnosis.cause->title),
                fmt::format("Root cause: {}: ", diagnosis.cause->id), style.width);
    text += needed.empty() ? "No change of settings fixes this.\n\n" : "\n";
  } else if (needed.empty()) {
    text = stack ? fold(
                       "Nothing is broken here. What is left is done by hand: a PyTorch that has "
                       "code for this GPU. headroom fix stack says how.",
                       "", style.width) +
                       "\n"
                 : "headroom found nothing to fix here.\n\n";
  }
  return needed.empty() ? text : text + style.bold("What headroom can fix here") + "\n\n";
}

}  // namespace

std::string fixes_to_text(const std::vector<ListedFix>& fixes, const findings::Diagnosis& diagnosis,
                          const facts::Facts& facts, const Style& style, const std::string& root) {
  const auto needed = of_standing(fixes, Standing::needed);
  const bool stack = needed.empty() && !diagnosis.cause && lacks_stack(diagnosis, facts);
  std::string text = heading(needed, diagnosis, stack, style);
  for (const plan::Fix* fix : needed) text += entry_text(*fix, style);
  text += found_too_text(fixes, style, root);
  text += unmended_text(fixes, style, root);
  // A larger share of memory is no help where nothing can compute.
  if (diagnosis.verdict != findings::Verdict::unsuitable) {
    text += names_text("Can be changed, although nothing is wrong",
                       not_found(fixes, Standing::possible), style);
  }
  auto by_hand = not_found(fixes, Standing::by_hand);
  if (stack) std::erase_if(by_hand, [](const plan::Fix* fix) { return fix->id == "stack"; });
  text += names_text("Explained only, to be done by hand", by_hand, style);
  if (const auto rest = not_found(fixes, Standing::not_needed); !rest.empty()) {
    text += fold(fmt::format("{} more fix{} not needed here (--json lists {}).", rest.size(),
                             rest.size() == 1 ? " is" : "es are", rest.size() == 1 ? "it" : "them"),
                 "", style.width);
  }
  const std::string next = next_text(needed, diagnosis, facts, style, root);
  const bool parted = text.ends_with("\n\n") && next.starts_with('\n');
  return fit(text + (parted ? next.substr(1) : next), style.width);
}

std::string fixes_to_json_text(const std::vector<ListedFix>& fixes) {
  nlohmann::ordered_json json;
  json["schema"] = "headroom.fixes/1";
  json["fixes"] = nlohmann::ordered_json::array();
  for (const ListedFix& listed : fixes) {
    const plan::Fix& fix = *listed.fix;
    json["fixes"].push_back({{"id", fix.id},
                             {"meaning", fix.meaning},
                             {"takes", fix.takes},
                             {"applies", listed.outlook.standing == Standing::needed},
                             {"standing", to_string(listed.outlook.standing)},
                             {"command", command_of(fix)}});
  }
  return json.dump(2) + "\n";
}

}  // namespace headroom::report
