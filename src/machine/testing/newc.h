// SPDX-License-Identifier: Apache-2.0
// Small cpio archives (newc) for tests: what goes in is written, sensible or not.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "machine/byte_source.h"

namespace headroom::machine::testing {

struct NewcEntry {
  std::string name;
  std::string bytes;
  std::uint32_t mode = 0100644;
  std::uint32_t inode = 0;
  std::uint32_t links = 1;
  std::string_view magic = "070701";
};

inline NewcEntry newc_link(std::string name, std::string target) {
  return {std::move(name), std::move(target), 0120777};
}
inline NewcEntry newc_folder(std::string name) {
  return {std::move(name), "", 0040755, 0, 2};
}

inline void pad_to_four(std::string& text) {
  while (text.size() % 4 != 0) text += '\0';
}

inline void add_newc(std::string& archive, const NewcEntry& entry) {
  archive += fmt::format(
      "{}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}"
      "{:08X}",
      entry.magic, entry.inode, entry.mode, 0, 0, entry.links, 0, entry.bytes.size(), 0, 0, 0, 0,
      entry.name.size() + 1, 0);
  archive += entry.name + '\0';
  pad_to_four(archive);
  archive += entry.bytes;
  pad_to_four(archive);
}

// With its trailer.
inline std::string make_newc(const std::vector<NewcEntry>& entries) {
  std::string archive;
  for (const NewcEntry& entry : entries) add_newc(archive, entry);
  add_newc(archive, {"TRAILER!!!", "", 0});
  return archive;
}

}  // namespace headroom::machine::testing
