// SPDX-License-Identifier: Apache-2.0
#include "redact/stand_ins.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace headroom::redact {
namespace {

// No vendor's: amdgpu's unique ids are fuse values, and none is known to begin like this.
constexpr std::uint64_t first_id = 0x7ed0'0000'0000'0001U;
constexpr std::uint64_t id_count = 1U << 20U;
constexpr std::string_view uuid_start = "00000000-0000-4000-8000-";

// "user7" for the prefix "user".
bool is_numbered(std::string_view text, std::string_view prefix) {
  return text.starts_with(prefix) && parse_u64(text.substr(prefix.size())).has_value();
}

std::string next(std::map<std::string, std::string>& seen, const std::string& original,
                 const auto& make) {
  const auto known = seen.find(original);
  if (known != seen.end()) return known->second;
  return seen.emplace(original, make(seen.size() + 1)).first->second;
}

}  // namespace

std::string_view to_string(Kind kind) {
  switch (kind) {
    case Kind::serial:
      return "serial_numbers";
    case Kind::host_name:
      return "host_names";
    case Kind::user_name:
      return "user_names";
    case Kind::uuid:
      return "uuids";
    case Kind::address:
      return "addresses";
    case Kind::option:
      return "kernel_options";
    case Kind::argument:
      return "command_lines";
    case Kind::variable:
      return "variables";
    case Kind::secret:
      return "secrets";
    case Kind::line:
      return "lines";
  }
  return "other";
}

std::string StandIns::user(const std::string& name) {
  if (is_numbered(name, "user")) return name;
  return next(users_, name, [](std::size_t number) { return fmt::format("user{}", number); });
}

std::string StandIns::host() {
  return "host";
}

std::string StandIns::uuid(const std::string& uuid) {
  const bool nil = uuid.find_first_not_of("0-") == std::string::npos;
  if (nil || uuid.starts_with(uuid_start)) return uuid;
  return next(uuids_, to_lower(uuid),
              [](std::size_t number) { return fmt::format("{}{:012x}", uuid_start, number); });
}

std::string StandIns::serial(const std::string& text) {
  static constexpr std::array none{"",
                                   "0",
                                   "n/a",
                                   "na",
                                   "none",
                                   "unknown",
                                   "default string",
                                   "not specified",
                                   "to be filled by o.e.m."};
  const std::string plain = to_lower(trim(text));
  if (std::find(none.begin(), none.end(), plain) != none.end()) return text;
  if (is_numbered(text, "serial-")) return text;
  std::string stand_in =
      next(serials_, text, [](std::size_t number) { return fmt::format("serial-{}", number); });
  add_known_serial(text, stand_in);
  return stand_in;
}

std::uint64_t StandIns::unique_id(std::uint64_t id) {
  if (id == 0 || (id >= first_id && id < first_id + id_count)) return id;
  return ids_.emplace(id, first_id + ids_.size()).first->second;
}

// Short ones would be found where something else is meant.
void StandIns::add_known_serial(const std::string& was, const std::string& is) {
  constexpr std::size_t telling = 6;
  if (was.size() >= telling && was != is) known_serials_.emplace(was, is);
}

}  // namespace headroom::redact
