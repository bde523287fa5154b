// SPDX-License-Identifier: Apache-2.0
#include "run/command/log_watch.h"

#include <map>

namespace headroom::run {

LogWatch::LogWatch(LogRules& rules, bool is_one)
    : rules_(rules), names_{is_one ? "output" : "stdout", "stderr", "kernel"} {
  rules_.want();
}

void LogWatch::feed(LogStream stream, std::string_view piece, std::uint64_t left_out) {
  const auto number = static_cast<std::size_t>(stream);
  Reading& reading = readings_[number];
  if (!reading.reader) {
    const logs::Matcher* matcher = rules_.matcher();
    if (matcher == nullptr) return;
    reading.reader.emplace(*matcher, reading.observations, number, names_[number]);
  }
  if (left_out > 0) reading.reader->feed("\n");  // What follows is no part of the line before.
  reading.reader->feed(piece);
}

void LogWatch::feed_kernel(std::string_view lines) {
  constexpr std::size_t most_bytes = std::size_t{1} << 20U;  // A kernel that says more has begun.
  if (kernel_lines_.size() + lines.size() <= most_bytes) kernel_lines_ += lines;
}

void LogWatch::finish() {
  if (!kernel_lines_.empty()) feed(LogStream::kernel, kernel_lines_);
  for (Reading& reading : readings_) {
    if (reading.reader) reading.reader->finish();
  }
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
