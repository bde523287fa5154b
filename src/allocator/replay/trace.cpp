// SPDX-License-Identifier: Apache-2.0
#include "allocator/replay/trace.h"

#include <fmt/format.h>

#include <limits>
#include <optional>

#include "base/text.h"

namespace headroom::allocator {
namespace {

// No device has nearly as much memory. The limit keeps sums of sizes, however they are rounded,
// within 64 bits.
constexpr std::uint64_t most_live_bytes = std::uint64_t{1} << 63U;

// The largest number is reserved, because the allocator uses it for "any stream".
std::optional<StreamId> parse_stream(std::string_view word) {
  const auto number = parse_u64(word);
  if (!number || *number >= std::numeric_limits<StreamId>::max()) return std::nullopt;
  return static_cast<StreamId>(*number);
}

}  // namespace

Error TraceParser::wrong(std::string_view what) const {
  return {Errc::invalid, fmt::format("line {}: {}", line_, what),
          "a trace has one event a line: a ID BYTES [STREAM [TAG]], f ID, s STREAM, or # comment"};
}

Status TraceParser::add_line(std::string_view line) {
  ++line_;
  const auto words = split_words(line);
  if (words.empty() || words[0].starts_with('#')) return Done{};
  if (words[0] == "a") return add_allocate(words);
  if (words[0] == "f") return add_free(words);
  if (words[0] == "s") return add_synchronize(words);
  return wrong(fmt::format("expected an event a, f or s, found \"{}\"", words[0].substr(0, 40)));
}

Status TraceParser::add_allocate(const std::vector<std::string_view>& words) {
  if (words.size() < 3 || words.size() > 5)
    return wrong(fmt::format("expected a ID BYTES [STREAM [TAG]], found {} words", words.size()));
  const auto id = parse_u64(words[1]);
  const auto bytes = parse_u64(words[2]);
  const auto stream = words.size() > 3 ? parse_stream(words[3]) : StreamId{0};
  if (!id) return wrong("the ID is not a number");
  if (!bytes) return wrong("BYTES is not a number below 2^64");
  if (!stream) return wrong("STREAM is not a number below 4294967295");
  if (*bytes > most_live_bytes - live_bytes_)
    return wrong("BYTES is more than can be, 2^63 with what is live already");
  std::uint32_t object = trace_.objects;
  if (!unused_.empty()) object = unused_.back();
  if (!live_.emplace(*id, object).second)
    return wrong(fmt::format("object {} is allocated again before it was freed", *id));
  if (unused_.empty())
    ++trace_.objects;
  else
    unused_.pop_back();
  bytes_.resize(trace_.objects);
  bytes_[object] = *bytes;
  live_bytes_ += *bytes;
  const auto tag = words.size() > 4 ? parse_component(words[4]) : std::nullopt;
  trace_.events.push_back(
      {EventKind::allocate, tag ? *tag : Component::other, *stream, object, *bytes});
  return Done{};
}

Status TraceParser::add_free(const std::vector<std::string_view>& words) {
  if (words.size() != 2) return wrong(fmt::format("expected f ID, found {} words", words.size()));
  const auto id = parse_u64(words[1]);
  if (!id) return wrong("the ID is not a number");
  const auto object = live_.find(*id);
  if (object == live_.end())
    return wrong(fmt::format("object {} is freed, but it is not live", *id));
  trace_.events.push_back({EventKind::free, Component::other, 0, object->second, 0});
  unused_.push_back(object->second);
  live_bytes_ -= bytes_[object->second];
  live_.erase(object);
  return Done{};
}

Status TraceParser::add_synchronize(const std::vector<std::string_view>& words) {
  if (words.size() != 2)
    return wrong(fmt::format("expected s STREAM, found {} words", words.size()));
  const auto stream = parse_stream(words[1]);
  if (!stream) return wrong("STREAM is not a number below 4294967295");
  trace_.events.push_back({EventKind::synchronize, Component::other, *stream, 0, 0});
  return Done{};
}

Result<Trace> parse_trace(std::string_view text) {
  TraceParser parser;
  for (const std::string_view line : split_lines(text)) HEADROOM_CHECK(parser.add_line(line));
  return parser.take();
}

}  // namespace headroom::allocator
