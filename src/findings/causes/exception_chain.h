// SPDX-License-Identifier: Apache-2.0
// Python prints chained exceptions with the first one on top: what it brought about comes below.
// "The above exception was the direct cause" always means that; "During handling of the above
// exception" does unless the first one is of the kinds that programs catch in the ordinary course
// (a key that is not in a cache, an optional package).
#pragma once

#include <optional>
#include <vector>

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

// The log that a line of evidence is from; nothing for facts.
std::optional<std::size_t> log_of(const LogSubject& subject, const Evidence& evidence);

class ExceptionChain {
 public:
  explicit ExceptionChain(const logs::Observations& log);

  // Both show in tracebacks that Python joins, and `cause` in an earlier one.
  bool brings_about(const LogSubject& subject, const Hypothesis& cause,
                    const Hypothesis& sign) const;

 private:
  struct Traceback {
    std::size_t log = 0;
    int begin = 0;             // Line.
    std::size_t chain = 0;     // The same for those that are joined.
    bool brings_about = true;  // What is below it.
  };
  const Traceback* around(const LogSubject& subject, const Hypothesis& hypothesis) const;

  std::vector<Traceback> tracebacks_;  // In the order of the logs.
};

}  // namespace headroom::findings
