// SPDX-License-Identifier: Apache-2.0
#include "report/causes_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "findings/causes/causes.h"
#include "report/style.h"

namespace headroom::report {
namespace {

// Whether another cause can bring it about and the page has a section on it. A standing cause holds
// whatever else is the case; answers such as insufficient-evidence are no causes.
bool can_follow(std::string_view id) {
  const auto rules = findings::cause_rules();
  return std::any_of(rules.begin(), rules.end(), [id](const findings::CauseRule* rule) {
    return rule->id == id && !rule->is_standing;
  });
}

constexpr std::size_t page_width = 110;

std::string section(const findings::CauseRule& rule) {
  std::string text = fmt::format("\n## {}\n\n", rule.id);
  text += fold(rule.meaning, "", page_width) + "\n";
  text += "**Background.** " + fold(rule.why, "", page_width) + "\n";
  text += "**What to do.** " + fold(rule.fix, "", page_width);
  std::vector<std::string> links;
  for (const std::string_view id : split_words(rule.explains)) {
    if (can_follow(id)) links.push_back(fmt::format("[{0}](#{0})", id));
  }
  if (!links.empty())
    text += "\n" + fold("It can cause " + join(links, ", ") + ".", "", page_width);
  if (rule.any_vendor) text += "\nIt happens with any vendor's GPU.\n";
  return text;
}

}  // namespace

std::string causes_page() {
  std::string page =
      "# Root causes that `headroom check --log` tells apart\n\n" +
      fold(
          "Generated from the texts in `src/findings/causes/`. "
          "[data/signatures.toml](../data/signatures.toml) says what single lines mean. The cause "
          "follows from all lines together and from what is known about the machine. Three answers "
          "are not causes: `none` (a healthy run), `not-amd-gpu` and `insufficient-evidence`.",
          "", page_width) +
      "\n| cause | meaning |\n|---|---|\n";
  for (const findings::CauseRule* rule : findings::cause_rules()) {
    page += fmt::format("| [{0}](#{0}) | {1} |\n", rule->id, rule->meaning);
  }
  for (const findings::CauseRule* rule : findings::cause_rules()) page += section(*rule);
  return page;
}

}  // namespace headroom::report
