// SPDX-License-Identifier: Apache-2.0
#include "report/rule_page.h"

#include <fmt/format.h>

#include "report/cause_text.h"
#include "report/style.h"

namespace headroom::report {
namespace {

constexpr std::size_t page_width = 110;

std::string paragraph(std::string_view text) {
  return fold(text, "", page_width) + "\n";
}

}  // namespace

std::string to_markdown(const findings::Rule& rule, const std::vector<RuleExample>& examples) {
  std::string page = fmt::format("# {}\n\n", rule.id);
  page += paragraph(rule.meaning);
  page += "**Why it matters.** " + paragraph(rule.why);
  page += "**What to do.** " + paragraph(rule.fix);
  page += "## Where it applies\n\nOn these machines of [tests/machines](../../tests/machines):\n\n";
  for (const RuleExample& example : examples) {
    page += fold(printable(example.finding.title), fmt::format("- `{}`: ", example.machine),
                 page_width);
  }
  page += "\n## An example\n\n```\n";
  const findings::Finding& finding = examples.front().finding;
  page += fold(printable(finding.title), fmt::format("{}: ", to_string(finding.severity)), 100);
  for (const findings::Evidence& evidence : finding.evidence) {
    page += "  " + printable(evidence.meaning) + "\n    " + printable(evidence.source);
    if (evidence.line > 0) page += fmt::format(":{}", evidence.line);
    page += (evidence.text.empty() ? "" : "  " + printable(evidence.text)) + "\n";
  }
  for (const findings::Step& step : finding.fix) {
    // A page is copied from; a command stays on its line.
    page += step.is_command() || step.is_look() ? "  -> " + printable(step.whole()) + "\n"
                                                : fold(sentence_text(step), "  -> ", 100);
    if (step.run.empty()) continue;
    page += "     " + printable(step.run) +
            (step.remark.empty() ? "" : "   " + printable(step.remark)) + "\n";
  }
  return page + "```\n";
}

std::string rules_index() {
  std::string index =
      "# What `headroom check` looks for\n\n" +
      paragraph(
          "One page per rule, generated from the texts in `src/findings/`. The order is the "
          "precedence: of two equally strong explanations, the upper one is the root cause.") +
      "| rule | what it finds |\n|---|---|\n";
  for (const findings::Rule* rule : findings::rules()) {
    index += fmt::format("| [{0}]({0}.md) | {1} |\n", rule->id, rule->meaning);
  }
  return index;
}

}  // namespace headroom::report
