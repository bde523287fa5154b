// SPDX-License-Identifier: Apache-2.0
// Does something again and again in a thread of its own.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "base/result.h"
#include "machine/descriptor.h"

namespace headroom::serve {

class Ticker {
 public:
  // At once, and then `interval` after each end. `work` must not throw. Fails where no descriptor
  // is left.
  static Result<std::unique_ptr<Ticker>> start(std::chrono::milliseconds interval,
                                               std::function<void()> work);
  // Waits for the work that is under way.
  ~Ticker();
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

 private:
  Ticker(machine::Descriptor over, std::chrono::milliseconds interval, std::function<void()> work);
  bool waits_on();  // False: it is over.

  machine::Descriptor over_;
  std::chrono::milliseconds interval_;
  std::function<void()> work_;
  std::thread thread_;  // Last: it uses the others.
};

}  // namespace headroom::serve
