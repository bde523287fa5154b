// SPDX-License-Identifier: Apache-2.0
// The same question put to a service again and again, several at once: what a request and a command
// have in common for whoever waits for the answers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace headroom::machine {

struct LoadAnswer {
  enum class End : std::uint8_t {
    answered,
    timed_out,  // Nothing whole within the time allowed.
    transport,  // No connection, it broke off, or the command could not be started.
  };
  End end = End::answered;
  int status = 0;      // HTTP's, or the exit code of a command (128 + signal).
  std::string body;    // Or what the command wrote to its standard output; at most `longest_body`.
  std::string detail;  // What went wrong with the transport, or the command's last words.
  double ms = 0;
};

inline constexpr std::size_t longest_body = std::size_t{16} << 20U;

// How often in all, and how many at once (at least 1, at most `repeat`).
struct LoadShape {
  std::uint64_t repeat = 1;
  std::uint64_t concurrency = 1;
  std::uint64_t timeout_ms = 10000;  // Of each.
};

// One thread. Its destructor breaks off what is still under way.
class Load {
 public:
  Load() = default;
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;
  virtual ~Load() = default;

  // Waits at most so long for answers, and returns those that came.
  virtual Result<std::vector<LoadAnswer>> wait(std::uint64_t wait_ms) = 0;
  // All answers were returned.
  virtual bool is_over() const = 0;
};

}  // namespace headroom::machine
