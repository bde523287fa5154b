// SPDX-License-Identifier: Apache-2.0
// Takes out of a machine's files what is nobody's business, and leaves what check needs: serials,
// host and user names, command lines, secrets. Pure: it is told names and texts, and reads nothing.
// What it makes of its own output is its own output.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "redact/stand_ins.h"

namespace headroom::redact {

// Whose machine it is.
struct Identity {
  std::vector<std::string> host_names;  // "box.example.org"; its parts are taken from it.
  std::vector<std::string> user_names;  // Of people, not of services.
  // Words of this machine's kernel and distribution. A person's or a host's name that is one of
  // them ("radeon", "ubuntu") tells nothing and is replaced only where nothing else can be meant.
  std::set<std::string> vocabulary;
};

class Redactor {
 public:
  explicit Redactor(const Identity& identity);

  // Names of hosts and people, home folders, UUIDs: for paths, targets of links, messages.
  std::string text(std::string_view text);
  // The same, and the serial numbers met so far: for a report that quotes files.
  std::string report(std::string_view text);
  // The bytes of a file, by what kind of file its path says that it is. Without a slash in front.
  std::string file(std::string_view path, std::string_view bytes);
  // What a link may say; nothing if the link is to be left out: an open file that is no GPU's.
  std::optional<std::string> target(std::string_view path, std::string_view target);
  // A listed name that was not read may be left out: those of open files.
  static bool is_open_file(std::string_view path);

  const Counts& counts() const { return counts_; }

 private:
  std::string replaced(Kind kind, const std::string& was, const std::string& is);
  std::string withheld(Kind kind, const std::string& was);
  std::string names(std::string_view text);
  std::string addresses(std::string_view text);

  std::string serial_file(std::string_view name, std::string_view bytes);
  std::string serial_lines(const std::string& text);
  std::string number(std::string_view digits, bool hexadecimal);
  std::string command_line(std::string_view bytes);
  std::string environment(std::string_view bytes);
  std::string variable(std::string_view name, std::string_view value);
  std::string assignment(const std::string& word);
  std::string assignments(std::string_view line);
  std::string shell(std::string_view text);
  std::string unit(std::string_view text);
  std::string boot_line(std::string_view text);
  std::string option(const std::string& word, bool kept_module);
  std::string modprobe(std::string_view text);
  std::string accounts(std::string_view text);

  StandIns stand_ins_;
  std::vector<std::string> hosts_, users_;  // Longest first, those of the vocabulary left out.
  Counts counts_{};
};

// "box.example.org" → itself, "box", "example.org"; longest first, without what is nobody's
// ("localhost").
std::vector<std::string> parts_of_host_name(std::string_view name);

}  // namespace headroom::redact
