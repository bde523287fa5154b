// SPDX-License-Identifier: Apache-2.0
#include "machine/clock.h"

#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <thread>

namespace headroom::machine {

std::uint64_t monotonic_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm at{};
  ::gmtime_r(&now, &at);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", at.tm_year + 1900, at.tm_mon + 1,
                     at.tm_mday, at.tm_hour, at.tm_min, at.tm_sec);
}

std::string local_time(std::int64_t unix_s) {
  const std::time_t moment = unix_s;
  std::tm at{};
  if (::localtime_r(&moment, &at) == nullptr) return "";
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", at.tm_year + 1900, at.tm_mon + 1,
                     at.tm_mday, at.tm_hour, at.tm_min, at.tm_sec);
}

std::string local_now() {
  return local_time(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()));
}

void sleep_ms(std::uint64_t duration_ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(duration_ms));
}

}  // namespace headroom::machine
