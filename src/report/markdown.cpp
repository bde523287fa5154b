// SPDX-License-Identifier: Apache-2.0
#include "report/markdown.h"

#include <fmt/format.h>

#include "base/printable.h"
#include "report/style.h"

namespace headroom::report {

std::string markdown_cell(std::string_view text) {
  std::string safe;
  for (const char c : shorten(printable(text), 160)) {
    if (c == '|' || c == '`' || c == '<' || c == '*' || c == '_') safe.push_back('\\');
    safe.push_back(c);
  }
  return safe;
}

std::string markdown_steps(const std::vector<findings::Step>& steps) {
  std::string text, looks;
  int number = 0;
  for (const findings::Step& step : steps) {
    if (step.is_look()) {
      looks += fmt::format("- `{}`{}\n", printable(step.text),
                           step.remark.empty() ? "" : " " + markdown_cell(step.remark));
      continue;
    }
    const std::string shown = step.is_command()
                                  ? "`" + printable(step.whole()) + "`"
                                  : markdown_cell(step.text) + (step.run.empty() ? "" : ":");
    text += fmt::format("{}. {}\n", ++number, shown);
    if (!step.run.empty()) {
      text += fmt::format("   `{}`{}\n", printable(step.run),
                          step.remark.empty() ? "" : " " + markdown_cell(step.remark));
    }
  }
  return looks.empty() ? text : text + "\nTo see for yourself:\n\n" + looks;
}

std::string markdown_evidence(const std::vector<findings::Evidence>& evidence) {
  std::string text;
  for (const findings::Evidence& one : evidence) {
    const std::string place =
        one.line > 0 ? fmt::format("{}:{}", one.source, one.line) : one.source;
    text += "- " + (one.meaning.empty() ? "" : markdown_cell(one.meaning) + ", ") +
            markdown_cell(place) + "\n";
    if (!one.text.empty()) text += "\n      " + shorten(printable(one.text), 300) + "\n\n";
  }
  return text;
}

}  // namespace headroom::report
