// SPDX-License-Identifier: Apache-2.0
// The rules of log lines, made when a line is first looked at: they take more time than everything
// else before a command begins, and a command that writes little and ends well needs none of them.
#pragma once

#include <optional>
#include <stop_token>

#include "base/mutex.h"
#include "base/result.h"
#include "knowledge/signatures.h"
#include "logs/matcher.h"

namespace headroom::run {

class LogRules {
 public:
  LogRules() = default;
  LogRules(const LogRules&) = delete;
  LogRules& operator=(const LogRules&) = delete;
  ~LogRules() = default;

  // Any thread; the first one makes them, the others wait. nullptr where nobody wants them any
  // more, and where the embedded table is wrong, which a test excludes. Lives as long as this.
  const logs::Matcher* matcher() HEADROOM_EXCLUDES(mutex_);
  // Whoever is making them stops, until want() is called. Neither waits. One thread for both.
  void give_up() { stop_.request_stop(); }
  // Requires: nobody is in matcher().
  void want() { stop_ = std::stop_source(); }

 private:
  Status make() HEADROOM_REQUIRES(mutex_);

  Mutex mutex_;
  std::stop_source stop_;
  knowledge::SignatureTable signatures_ HEADROOM_GUARDED_BY(mutex_);
  std::optional<logs::Matcher> matcher_ HEADROOM_GUARDED_BY(mutex_);
};

}  // namespace headroom::run
