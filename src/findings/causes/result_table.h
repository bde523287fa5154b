// SPDX-License-Identifier: Apache-2.0
// A table of trials, as people paste them in Markdown: each row is a run, the last column says what
// came of it. Where one column's values part the runs that work from those that fail, it names what
// the failure depends on. It is a control experiment of several runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

struct TrialRow {
  std::vector<std::string> settings;  // One for each column but the last.
  std::optional<bool> worked;         // Nothing if the cell does not say clearly.
};

struct TrialTable {
  std::vector<std::string> columns;  // Without the last.
  std::vector<TrialRow> rows;
  const logs::Observation* head = nullptr;
};

// Reads the table that begins with this line; one with no rows if there is none.
TrialTable read_table(const logs::Observation& head);

// The columns whose values part what worked from what failed: at least one row of each, no value
// that both have, and no column that numbers the rows.
std::vector<std::size_t> deciding_columns(const TrialTable& table);

// What the tables of the log show for this cause; nothing if it is none of those columns'.
std::optional<Hypothesis> shown_by_table(const LogSubject& subject, const CauseRule& rule);

}  // namespace headroom::findings
