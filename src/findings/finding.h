// SPDX-License-Identifier: Apache-2.0
// A finding is something about a machine that its owner should know, with the facts that show it
// and what to do. A finding that explains why jobs fail, or get less memory than they could, also
// makes a claim; the root cause is chosen among the claims.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "facts/fact.h"
#include "findings/next_command.h"
#include "findings/step.h"

namespace headroom::findings {

enum class Severity { info, warning, error };

// The field `verdict` of docs/schema/check.schema.json. Less and less is usable in the order ok,
// limited, broken, unsuitable.
enum class Verdict { ok, limited, broken, unsuitable, no_gpu, unknown };

struct Evidence {
  std::string source;   // A path of the machine, or "computed".
  int line = 0;         // From 1; 0 if lines have no meaning.
  std::string text;     // The line as read, or the computation.
  std::string meaning;  // What it says, in readable units.
};

// Another explanation of the same facts, and what would tell the two apart.
struct Alternative {
  std::string id;
  double confidence = 0;
  std::string would_tell;
};

struct Claim {
  Verdict verdict = Verdict::limited;
  double confidence = 0;  // 0 to 1.
  std::vector<Alternative> alternatives;
};

struct Finding {
  std::string id;  // A root cause (docs/causes.md) if it makes a claim, else the rule.
  Severity severity = Severity::info;
  std::string gpu;  // PCI address; empty if it concerns the machine.
  std::string title;
  std::vector<std::string> reasons;  // Sentences that lead from the evidence to the title.
  std::vector<Evidence> evidence;
  std::vector<Step> fix;  // Commands and sentences, in order.
  NextCommand next;
  std::optional<Claim> claim;
  // The steps are needed beside those of the root cause, and are clear without this title.
  bool joins_steps = false;
};

// A fact as evidence: its source and line, and what it means.
template <class T>
Evidence show(const facts::Fact<T>& fact, std::string meaning) {
  const facts::Source& source = fact.source();
  return {source.path, source.line, fact.known() ? source.text : to_string(fact.missing()),
          std::move(meaning)};
}

std::string_view to_string(Severity severity);
std::string_view to_string(Verdict verdict);

}  // namespace headroom::findings
