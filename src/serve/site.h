// SPDX-License-Identifier: Apache-2.0
// What our server answers: the last that was made of each page, to whom it may be shown.
//
//   /            the live page                 /metrics   for Prometheus
//   /live.json   headroom.live/1               /healthz   200 or 503, and one line
//   /events      the same, each time anew (server-sent events)
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "serve/access.h"

namespace headroom::serve {

struct Pages {
  std::string metrics, live_json, page;
  bool healthy = false;
  std::string health;                // One line: "ok: …".
  std::chrono::nanoseconds made{0};  // When, by a clock that is not set.
};

class Site {
 public:
  // Pages older than `stale` are unhealthy: whoever makes them is stuck.
  Site(std::optional<std::string> token, std::chrono::nanoseconds stale)
      : token_(std::move(token)), stale_(stale) {}

  void show(Pages pages) HEADROOM_EXCLUDES(mutex_);  // From any thread.
  Response answer(const Request& request, std::chrono::nanoseconds now) const
      HEADROOM_EXCLUDES(mutex_);

 private:
  std::optional<std::string> token_;
  std::chrono::nanoseconds stale_;
  mutable Mutex mutex_;
  std::shared_ptr<const Pages> pages_ HEADROOM_GUARDED_BY(mutex_);
};

// One server-sent event whose data is `json`, which has no line end inside.
std::string to_event(std::string_view json);

}  // namespace headroom::serve
