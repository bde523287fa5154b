// SPDX-License-Identifier: Apache-2.0
// What the programs that replay one trace for the table take: TRACE, then pairs of --OPTION VALUE.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>

#include "allocator/replay/trace.h"
#include "base/bytes.h"
#include "base/text.h"

namespace headroom::bench {

using Options = std::map<std::string, std::string>;

// Nothing, and a message printed, on anything but TRACE and pairs of known options.
inline std::optional<Options> read_options(int argc, char** argv, const Options& defaults) {
  Options options = defaults;
  bool good = argc >= 2 && argc % 2 == 0;
  for (int i = 2; good && i + 1 < argc; i += 2) {
    good = options.contains(argv[i]);
    if (good) options[argv[i]] = argv[i + 1];
  }
  if (good) return options;
  std::string known;
  for (const auto& [name, value] : defaults) known += fmt::format(" [{} {}]", name, value);
  fmt::print(stderr, "usage: {} TRACE{}\n", argv[0], known);
  return std::nullopt;
}

// Nothing, and a message printed, if it is no trace.
inline std::optional<allocator::Trace> read_trace(const char* path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) {
    fmt::print(stderr, "{}: cannot be read\n", path);
    return std::nullopt;
  }
  auto trace = allocator::parse_trace(text.str());
  if (!trace) {
    fmt::print(stderr, "{}: {}\n", path, trace.error().message);
    return std::nullopt;
  }
  return *std::move(trace);
}

// "64TiB"-like sizes, and plain numbers; nothing, and a message printed, for anything else.
inline std::optional<std::uint64_t> read_size(const std::string& text) {
  const auto size = parse_bytes(text);
  if (size) return size->value;
  fmt::print(stderr, "{}: expected a size such as 16GiB\n", text);
  return std::nullopt;
}

}  // namespace headroom::bench
