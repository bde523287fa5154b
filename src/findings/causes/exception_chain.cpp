// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/exception_chain.h"

#include <algorithm>

namespace headroom::findings {
namespace {

using logs::Observation;

bool lies_between(const Observation& one, std::size_t log, int begin, int end) {
  const int line = static_cast<int>(one.line);
  return one.log == log && line > begin && line < end;
}

// Whether programs normally raise and catch exceptions of this type.
bool is_control_flow(std::string_view type) {
  for (const std::string_view known :
       {"KeyError", "AttributeError", "ImportError", "ModuleNotFoundError", "StopIteration",
        "IndexError", "FileNotFoundError", "TypeError"}) {
    if (type == known) return true;
  }
  return false;
}

}  // namespace

std::optional<std::size_t> log_of(const LogSubject& subject, const Evidence& evidence) {
  const auto found = std::find(subject.log_names.begin(), subject.log_names.end(), evidence.source);
  if (found == subject.log_names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - subject.log_names.begin());
}

ExceptionChain::ExceptionChain(const logs::Observations& log) {
  for (const Observation* one : log.of("traceback")) {
    tracebacks_.push_back({one->log, static_cast<int>(one->line), 0, true});
  }
  std::sort(tracebacks_.begin(), tracebacks_.end(), [](const Traceback& a, const Traceback& b) {
    return std::pair(a.log, a.begin) < std::pair(b.log, b.begin);
  });
  const auto joined = [&](std::string_view id, const Traceback& above, const Traceback& below) {
    const auto all = log.of(id);
    return above.log == below.log && std::any_of(all.begin(), all.end(), [&](const auto* one) {
             return lies_between(*one, above.log, above.begin, below.begin);
           });
  };
  for (std::size_t i = 1; i < tracebacks_.size(); ++i) {
    Traceback& above = tracebacks_[i - 1];
    Traceback& below = tracebacks_[i];
    const bool direct = joined("exception-cause", above, below);
    const bool handled = joined("exception-context", above, below);
    below.chain = direct || handled ? above.chain : above.chain + 1;
    if (direct) continue;
    for (const Observation* one : log.of("python-exception")) {
      if (lies_between(*one, above.log, above.begin, below.begin)) {
        above.brings_about = !is_control_flow(one->value("type"));
      }
    }
  }
}

const ExceptionChain::Traceback* ExceptionChain::around(const LogSubject& subject,
                                                        const Hypothesis& hypothesis) const {
  if (hypothesis.evidence.empty()) return nullptr;
  const Evidence& first = hypothesis.evidence.front();
  const auto log = log_of(subject, first);
  const Traceback* found = nullptr;
  for (const Traceback& one : tracebacks_) {
    if (log && one.log == *log && one.begin <= first.line) found = &one;
  }
  return found;
}

bool ExceptionChain::brings_about(const LogSubject& subject, const Hypothesis& cause,
                                  const Hypothesis& sign) const {
  const Traceback* above = around(subject, cause);
  const Traceback* below = around(subject, sign);
  if (above == nullptr || below == nullptr || above->chain != below->chain) return false;
  return above < below && above->brings_about;
}

}  // namespace headroom::findings
