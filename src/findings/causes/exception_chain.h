// SPDX-License-Identifier: Apache-2.0
// Tells which of Python's chained exceptions brought about which. Python prints the first one on
// top and its consequences below. "The above exception was the direct cause" always means that.
// "During handling of the above exception" also does, unless the first exception is of a kind that
// programs normally catch (a key that is not in a cache, an optional package).
#pragma once

#include <optional>
#include <vector>

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

// The log that contains a line of evidence; nothing for facts.
std::optional<std::size_t> log_of(const LogSubject& subject, const Evidence& evidence);

class ExceptionChain {
 public:
  explicit ExceptionChain(const logs::Observations& log);

  // Whether both show in tracebacks that Python chained, with `cause` in an earlier one.
  bool brings_about(const LogSubject& subject, const Hypothesis& cause,
                    const Hypothesis& sign) const;

 private:
  struct Traceback {
    std::size_t log = 0;
    int begin = 0;             // The first line.
    std::size_t chain = 0;     // Chained tracebacks have the same number.
    bool brings_about = true;  // Whether it brought about what is below it.
  };
  const Traceback* around(const LogSubject& subject, const Hypothesis& hypothesis) const;

  std::vector<Traceback> tracebacks_;  // In the order of the logs.
};

}  // namespace headroom::findings
