// SPDX-License-Identifier: Apache-2.0
#include "run/command/log_watch.h"

#include <map>

namespace headroom::run {

LogWatch::LogWatch(const logs::Matcher& matcher, bool is_one)
    : names_{is_one ? "output" : "stdout", "stderr", "kernel"},
      readings_{Reading(matcher, 0, names_[0]), Reading(matcher, 1, names_[1]),
                Reading(matcher, 2, names_[2])} {}

void LogWatch::feed(LogStream stream, std::string_view piece, std::uint64_t left_out) {
  Reading& reading = of(stream);
  if (left_out > 0) reading.reader.feed("\n");  // What follows is no part of the line before.
  if (piece.empty()) return;
  reading.reader.feed(piece);
  reading.is_in_line.store(piece.back() != '\n', std::memory_order_relaxed);
}

bool LogWatch::is_in_line(LogStream stream) const {
  return readings_[static_cast<std::size_t>(stream)].is_in_line.load(std::memory_order_relaxed);
}

void LogWatch::finish() {
  for (Reading& reading : readings_) reading.reader.finish();
}

logs::Observations LogWatch::observations() const {
  logs::Observations all;
  for (const Reading& reading : readings_) {
    std::map<const knowledge::Signature*, std::uint64_t> kept;
    for (const logs::Observation& one : reading.observations.all()) {
      all.add(one);
      ++kept[one.signature];
    }
    for (const auto& [signature, times] : kept)
      all.count(*signature, reading.observations.count_of(signature->id) - times);
  }
  return all;
}

}  // namespace headroom::run
