// SPDX-License-Identifier: Apache-2.0
// What stands before a line's own text: who wrote it and when, as journald, docker, compose,
// kubectl, dmesg, Python's logging, torchrun and others put it there, also several on one line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headroom::logs {

struct Line {
  // As written; the innermost one that tells a date or a clock, else the kernel's uptime, else
  // empty.
  std::string_view time;
  // The outermost: "immich_machine_learning", "kernel", "rank0"; or empty.
  std::string_view origin;
  std::string_view level;  // "INFO", where it is a part of the prefix; or empty.
  std::string_view body;   // What is left.
};

// Never fails: a line without a prefix is all body.
Line parse_prefix(std::string_view line);

// One of the prefixes that parse_prefix takes off.
struct Prefix {
  std::size_t form = 0;     // The same number for what is written alike.
  std::string_view origin;  // Who wrote the line, by this prefix alone; or empty.
  std::size_t end = 0;      // Where the text behind it begins.
  bool is_certain = true;   // It stands for itself; others are prefixes only behind a time.
};

// Outermost first.
std::vector<Prefix> find_prefixes(std::string_view line);

}  // namespace headroom::logs
