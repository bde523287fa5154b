// SPDX-License-Identifier: Apache-2.0
// Reads along with what an attempt writes and what the kernel says meanwhile, by the signatures of
// log lines. Each stream has its own reader and its own observations, because the relays call from
// threads of their own; put together they are in the order in which rules expect logs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "logs/log_reader.h"
#include "logs/observation.h"
#include "run/command/log_rules.h"

namespace headroom::run {

// What an attempt's log is made of, in the order in which it is reported.
enum class LogStream : std::uint8_t { output, errors, kernel };

class LogWatch {
 public:
  // `rules` outlive this. With `is_one`, both streams of the command come as LogStream::output.
  LogWatch(LogRules& rules, bool is_one);
  LogWatch(const LogWatch&) = delete;
  LogWatch& operator=(const LogWatch&) = delete;
  ~LogWatch() = default;

  // One thread for each stream. `left_out`: so many bytes before this piece were not kept.
  void feed(LogStream stream, std::string_view piece, std::uint64_t left_out = 0);
  // One thread. Kept until finish(): who has them has other things to do than to wait for the
  // rules.
  void feed_kernel(std::string_view lines);

  // These require that nobody feeds any more.
  void finish();
  logs::Observations observations() const;
  // By the observations' number of their log.
  const std::vector<std::string>& names() const { return names_; }

 private:
  struct Reading {
    logs::Observations observations;
    std::optional<logs::LogReader> reader;  // Once there is something to read.
  };

  LogRules& rules_;
  std::vector<std::string> names_;
  std::array<Reading, 3> readings_;
  std::string kernel_lines_;
};

}  // namespace headroom::run
