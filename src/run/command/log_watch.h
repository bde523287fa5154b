// SPDX-License-Identifier: Apache-2.0
// Reads along with what an attempt writes and what the kernel says meanwhile, by the signatures of
// log lines. Each stream has its own reader and its own observations, because the relays call from
// threads of their own; put together they are in the order in which rules expect logs.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "logs/log_reader.h"
#include "logs/matcher.h"
#include "logs/observation.h"

namespace headroom::run {

// What an attempt's log is made of, in the order in which it is reported.
enum class LogStream : std::uint8_t { output, errors, kernel };

class LogWatch {
 public:
  // `matcher` outlives this. With `is_one`, both streams of the command come as LogStream::output.
  LogWatch(const logs::Matcher& matcher, bool is_one);
  LogWatch(const LogWatch&) = delete;
  LogWatch& operator=(const LogWatch&) = delete;
  ~LogWatch() = default;

  // One thread for each stream. `left_out`: so many bytes before this piece were not kept.
  void feed(LogStream stream, std::string_view piece, std::uint64_t left_out = 0);
  // Any thread. The stream's last line has no end yet.
  bool is_in_line(LogStream stream) const;

  // These require that nobody feeds any more.
  void finish();
  logs::Observations observations() const;
  // By the observations' number of their log.
  const std::vector<std::string>& names() const { return names_; }

 private:
  struct Reading {
    Reading(const logs::Matcher& matcher, std::uint64_t log, const std::string& name)
        : reader(matcher, observations, log, name) {}
    logs::Observations observations;
    logs::LogReader reader;
    std::atomic<bool> is_in_line{false};
  };
  Reading& of(LogStream stream) { return readings_[static_cast<std::size_t>(stream)]; }

  std::vector<std::string> names_;
  std::array<Reading, 3> readings_;
};

}  // namespace headroom::run
