// SPDX-License-Identifier: Apache-2.0
#include "averager/watch_thread.h"

#include <signal.h>  // NOLINT(modernize-deprecated-headers): pthread_sigmask is POSIX's.

namespace headroom::averager {
namespace {

// The threads of the averager take no signal: they belong to the program.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all = {};
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_ = {};
};

}  // namespace

WatchThread::WatchThread(PeerWatch& watch, WatchTimes times) {
  const SignalsBlocked blocked;
  thread_ = std::thread([this, &watch, interval_ms = times.interval_ms()] {
    while (!ends_.load()) {
      watch.look();
      rest_ms(interval_ms);
    }
  });
}

WatchThread::~WatchThread() {
  ends_.store(true);
  thread_.join();
}

}  // namespace headroom::averager
