// SPDX-License-Identifier: Apache-2.0
// The thread that beats for this rank and looks at the others, for as long as it exists.
#pragma once

#include <atomic>
#include <thread>

#include "averager/peer_watch.h"

namespace headroom::averager {

class WatchThread {
 public:
  WatchThread(PeerWatch& watch, WatchTimes times);
  ~WatchThread();
  WatchThread(const WatchThread&) = delete;
  WatchThread& operator=(const WatchThread&) = delete;

 private:
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

}  // namespace headroom::averager
