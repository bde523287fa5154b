// SPDX-License-Identifier: Apache-2.0
#include "logs/line_prefix.h"

#include <re2/re2.h>

#include <array>
#include <memory>

namespace headroom::logs {
namespace {

enum class Names { time, origin, time_and_origin, nothing };

struct Form {
  std::unique_ptr<const RE2> pattern;
  Names names = Names::nothing;
};

std::array<Form, 14> make_forms() {
  const auto form = [](const char* pattern, Names names) {
    return Form{std::make_unique<const RE2>(pattern, RE2::Quiet), names};
  };
  return {
      // Kernel ring buffer: dmesg, and dmesg -T.
      form(R"(\[\s*(\d+\.\d{3,9})\]\s+)", Names::time),
      form(R"(\[(\w{3} \w{3}\s+\d+ [\d:]+ \d{4})\]\s*)", Names::time),
      // ISO 8601 as docker logs -t, kubectl --timestamps, journald and most programs write it.
      form(
          R"(\[?(\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)\]?:?\s+)",
          Names::time),
      form(R"re(time="?([^\s"]+)"?\s+)re", Names::time),
      // syslog and journalctl: "May 24 10:02:41 host unit[123]: ", also without the host.
      form(
          R"(([A-Z][a-z]{2}\s+\d{1,2} \d\d:\d\d:\d\d)\s+(?:\S+\s+)??([\w.@/:\\-]+)(?:\[\d+\])?:\s+)",
          Names::time_and_origin),
      // journalctl -o short-iso: the time is gone, the host and the unit are left.
      form(R"([\w.-]+ ([\w.@-]+)\[\d+\]:\s+)", Names::origin),
      form(R"(kernel:\s+)", Names::nothing),
      // docker compose; CRI ("stderr F ").
      form(R"(([A-Za-z0-9][\w.-]*)\s*\| ?)", Names::origin),
      form(R"((stdout|stderr) [FP] )", Names::nothing),
      // Python: rich's handler, torchrun's ranks, composer's streams, vLLM's processes.
      form(R"(\[(\d\d/\d\d/\d\d \d\d:\d\d:\d\d)\]\s+)", Names::time),
      form(R"(\[?([Rr]ank\s?\d+)\]?:\s*)", Names::origin),
      form(R"(\[(stdout|stderr|default\d+)\]:\s*)", Names::origin),
      form(R"(\((\w[\w. -]*pid=\d+[^)]*)\)\s+)", Names::origin),
      form(R"((?:DEBUG|INFO|WARNING|ERROR|CRITICAL)\s+(\d\d-\d\d \d\d:\d\d:\d\d)\s+)", Names::time),
  };
}

const std::array<Form, 14>& forms() {
  static const std::array<Form, 14> all = make_forms();
  return all;
}

std::string_view view(const re2::StringPiece& piece) {
  return {piece.data(), piece.size()};
}

// Takes one prefix off `rest`; false if none is there.
bool take_one(re2::StringPiece& rest, Line& line) {
  for (const Form& form : forms()) {
    re2::StringPiece first, second;
    const RE2& pattern = *form.pattern;
    const bool found = form.names == Names::time_and_origin
                           ? RE2::Consume(&rest, pattern, &first, &second)
                       : form.names == Names::nothing && pattern.NumberOfCapturingGroups() == 0
                           ? RE2::Consume(&rest, pattern)
                           : RE2::Consume(&rest, pattern, &first);
    if (!found) continue;
    const bool tells_time = form.names == Names::time || form.names == Names::time_and_origin;
    if (tells_time) line.time = view(first);
    const re2::StringPiece& name = form.names == Names::time_and_origin ? second : first;
    const bool tells_origin = form.names == Names::origin || form.names == Names::time_and_origin;
    if (tells_origin && line.origin.empty()) line.origin = view(name);
    return true;
  }
  return false;
}

}  // namespace

Line parse_prefix(std::string_view text) {
  constexpr int deepest = 6;
  Line line;
  re2::StringPiece rest(text.data(), text.size());
  for (int depth = 0; depth < deepest && take_one(rest, line); ++depth) {
  }
  line.body = view(rest);
  return line;
}

}  // namespace headroom::logs
