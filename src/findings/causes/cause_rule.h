// SPDX-License-Identifier: Apache-2.0
// Rules that find root causes in logs. There is one rule for each cause, in a file of its own. It
// looks at what was observed and at what is known about the machine, does the arithmetic, and says
// how sure it is. It knows nothing about the other rules; which causes it explains is data in the
// rule.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "estimate/job_dimensions.h"
#include "findings/finding.h"
#include "findings/scene.h"
#include "knowledge/gpu_tables.h"
#include "logs/observation.h"

namespace headroom::findings {

struct LogSubject {
  const logs::Observations& log;
  const Scene& scene;
  const knowledge::GpuTables& tables;
  const std::vector<std::string>& log_names;  // Indexed by Observation::log: "worker.log", "stdin".
  // The job's sizes, if a description besides the log tells them; else nullptr.
  const estimate::JobDimensions* job = nullptr;
};

// How sure a rule is, in words; numbers in between are fine where arithmetic decides.
//
//   proven      the lines say it themselves, and nothing else prints them
//   likely      the usual cause of these lines, and nothing known speaks against it
//   possible    one of several causes of these lines
//   conceivable not excluded; worth a runner-up
namespace confidence {
constexpr double proven = 0.95;
constexpr double likely = 0.8;
constexpr double possible = 0.5;
constexpr double conceivable = 0.2;
}  // namespace confidence

struct Hypothesis {
  double confidence = 0;
  std::string title;                 // One line, with this machine's names and figures.
  std::vector<std::string> reasons;  // Sentences that lead from the evidence to the title.
  std::vector<Evidence> evidence;    // Lines and facts; the first one is where it shows first.
  std::vector<Evidence> against;     // Lines that it does not allow; each says why not.
  std::vector<Step> fix;             // Commands and sentences, in order.
  // Whether it rests on what the author says alone.
  bool is_told = false;
  // Nothing about the GPU can bring it about, such as files that are not there: it is never shown
  // as another cause's consequence.
  bool is_no_consequence = false;
  // Other causes of the same lines, and the command that would tell.
  std::vector<Alternative> alternatives;
};

struct CauseRule {
  std::string_view id;  // As in docs/causes.md.
  // What is the case, in one sentence. These three texts make up the rule's page.
  std::string_view meaning;
  std::string_view why;  // Why it matters, or how it comes about.
  std::string_view fix;  // What to do in general.
  // Causes whose signs this one brings about, separated by blanks: if both hold, they are its
  // consequences.
  std::string_view explains;
  // True if it also happens on other vendors' GPUs, and is the answer there too.
  bool any_vendor = false;
  // True if it holds of the GPU and the release whatever else is the case. Another cause may come
  // before it and does not bring it about: it is shown as what else it might be.
  bool is_standing = false;
  // What to type next on the machine, where no finding there names a command for this cause.
  NextCommand (*next)() = nullptr;
  std::optional<Hypothesis> (*find)(const LogSubject&) = nullptr;
};

// Makes evidence of a line of a log.
Evidence show(const LogSubject& subject, const logs::Observation& observation,
              std::string meaning = {});

}  // namespace headroom::findings
