// SPDX-License-Identifier: Apache-2.0
// app-bug: a plain Python error that has nothing to do with GPUs, drivers or libraries: a name that
// does not exist, a wrong argument, a missing file. Never more than likely: the same exception may
// follow from something that failed before.
#include <fmt/format.h>

#include "findings/causes/causes.h"

namespace headroom::findings {
namespace {

// Exceptions that a slip in the user's own program raises.
bool is_programming_error(std::string_view type) {
  for (const std::string_view known :
       {"NameError", "SyntaxError", "IndentationError", "TypeError", "KeyError", "IndexError",
        "ZeroDivisionError", "UnboundLocalError", "FileNotFoundError", "JSONDecodeError",
        "AssertionError", "ValueError", "AttributeError"}) {
    if (type == known) return true;
  }
  return false;
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  const logs::Observation* error = nullptr;
  for (const logs::Observation* one : subject.log.of("python-exception")) {
    if (is_programming_error(one->value("type"))) {
      error = one;
      break;
    }
  }
  if (error == nullptr) return std::nullopt;
  Hypothesis bug;
  const std::string_view type = error->value("type");
  bug.confidence = type == "NameError" || type == "SyntaxError" || type == "IndentationError"
                       ? confidence::likely
                       : confidence::possible;
  bug.title = fmt::format("A Python error in the program: {}", type);
  bug.reasons.emplace_back("It is raised by the program's own code, not by the GPU's software.");
  bug.evidence.push_back(show(subject, *error));
  bug.fix.emplace_back("mend the line that the last \"File …, line …\" of the traceback names");
  return bug;
}

}  // namespace

constinit const CauseRule app_bug_cause = {
    .id = "app-bug",
    .meaning = "The user's program raises a plain Python error.",
    .why = "Nothing of the GPU's software is at fault; changing it costs time and mends nothing.",
    .fix = "Read the traceback's last lines and mend the program.",
    .explains = "",
    .find = find,
};

}  // namespace headroom::findings
