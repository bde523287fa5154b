// SPDX-License-Identifier: Apache-2.0
// What a person's report is about, by the subjects that its sentences speak of
// (data/subjects.toml): garbage and several GPUs and the IOMMU together are about transfers between
// GPUs. Each subject alone says little; a cause is guessed from those that come together. Only
// sentences count, so that what programs print is no report.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

// Whether a person tells of trouble in a sentence.
bool tells_of_trouble(const logs::Observations& log);

// Whether a sentence speaks of a subject of data/subjects.toml. It compiles that table's
// expressions, so it is asked last.
bool speaks_of(const logs::Observations& log, std::string_view what);

// Whether only a GPU that uses system memory suffers from the cause, and the log has none: what
// people say then is about another machine.
bool is_for_other_gpus(const LogSubject& subject, std::string_view cause);

// Whether the figures of a failed allocation leave no room for a cause that is about how much
// memory there is: a tiny request was refused, and by its own message nearly everything is free.
bool is_refuted_by_figures(const LogSubject& subject, std::string_view cause);

// A cause that a report is about, and the lines that speak of it.
struct ToldTopic {
  std::string_view cause;
  double weight = 0;
  std::vector<Evidence> lines;  // At least one.
};

// The cause that most of the report's subjects are about. Nothing if they are too few or fit
// another one as well, if nobody tells of trouble in a sentence, or if lines of programs show that
// the work is healthy or another vendor's.
std::optional<ToldTopic> told_topic(const LogSubject& subject);

// Whether a person tells of a failure whose log is yet to be looked up, and nothing shows it.
bool is_hearsay(const logs::Observations& log);

}  // namespace headroom::findings
