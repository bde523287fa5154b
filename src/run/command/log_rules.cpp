// SPDX-License-Identifier: Apache-2.0
#include "run/command/log_rules.h"

#include <utility>

namespace headroom::run {

Status LogRules::make() {
  HEADROOM_TRY(signatures_, knowledge::load_signatures());
  HEADROOM_TRY(logs::Matcher matcher, logs::Matcher::make(signatures_, stop_.get_token()));
  matcher_.emplace(std::move(matcher));
  return Done{};
}

const logs::Matcher* LogRules::matcher() {
  const MutexLock lock(mutex_);
  if (!matcher_ && !stop_.stop_requested()) (void)make().has_value();
  return matcher_ ? &*matcher_ : nullptr;
}

}  // namespace headroom::run
