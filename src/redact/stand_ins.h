// SPDX-License-Identifier: Apache-2.0
// Names in place of those that must not be told: the same one for the same original, so that what
// was equal stays equal. A stand-in stands for itself, so redacting twice is redacting once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace headroom::redact {

enum class Kind {
  serial,     // Serial numbers, unique ids, machine ids.
  host_name,  // Also the domain.
  user_name,
  uuid,
  address,   // Internet and hardware addresses.
  option,    // A kernel command line's or a module's, with a value that is free text.
  argument,  // The command line of a process, down to the program's name.
  variable,  // Of an environment.
  secret,    // A value whose name says that it is one.
  line,      // Of a configuration file: comments and what no one asked for.
};
constexpr std::size_t kinds = 10;
std::string_view to_string(Kind kind);

// How often something was replaced, by Kind.
using Counts = std::array<std::size_t, kinds>;

// What takes the place of a value that nobody needs.
constexpr std::string_view redacted = "redacted";

class StandIns {
 public:
  std::string user(const std::string& name);
  std::string host();                           // There is only one.
  std::string uuid(const std::string& uuid);    // In the usual form with hyphens.
  std::string serial(const std::string& text);  // Empty ones and "N/A" stay as they are.
  std::uint64_t unique_id(std::uint64_t id);    // 0 is "has none" and stays 0.

  // Serial numbers and unique ids, as they were written, to what was written instead.
  const std::map<std::string, std::string>& known_serials() const { return known_serials_; }
  void add_known_serial(const std::string& was, const std::string& is);

 private:
  std::map<std::string, std::string> users_, uuids_, serials_;
  std::map<std::uint64_t, std::uint64_t> ids_;
  std::map<std::string, std::string> known_serials_;
};

}  // namespace headroom::redact
