// SPDX-License-Identifier: Apache-2.0
#include "serve/ticker.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

namespace headroom::serve {

Result<std::unique_ptr<Ticker>> Ticker::start(std::chrono::milliseconds interval,
                                              std::function<void()> work) {
  machine::Descriptor over(::eventfd(0, EFD_CLOEXEC));
  if (over.get() < 0) return Error{Errc::io, "expected a free descriptor, found none left", ""};
  return std::unique_ptr<Ticker>(new Ticker(std::move(over), interval, std::move(work)));
}

Ticker::Ticker(machine::Descriptor over, std::chrono::milliseconds interval,
               std::function<void()> work)
    : over_(std::move(over)), interval_(interval), work_(std::move(work)), thread_([this] {
        do {
          work_();
        } while (waits_on());
      }) {}

Ticker::~Ticker() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(over_.get(), &one, sizeof one);
  thread_.join();
}

// A signal in between shortens one wait, which harms nobody.
bool Ticker::waits_on() {
  pollfd over{over_.get(), POLLIN, 0};
  return ::poll(&over, 1, static_cast<int>(interval_.count())) != 1;
}

}  // namespace headroom::serve
