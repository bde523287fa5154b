// SPDX-License-Identifier: Apache-2.0
// The file in which processes on one card record what they hold: a header and 64 slots of 128 bytes
// each, little-endian. A slot is written as a whole or not at all, and has a checksum, so that a
// reader notices if it is damaged.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/files/budget_rule.h"
#include "base/result.h"

namespace headroom::allocator {

inline constexpr std::size_t ledger_slot_bytes = 128;
inline constexpr std::size_t ledger_slots = 64;
inline constexpr std::size_t ledger_bytes = (1 + ledger_slots) * ledger_slot_bytes;

struct LedgerEntry {
  std::uint64_t pid = 0;
  std::uint64_t start_ticks = 0;    // Field 22 of /proc/PID/stat …
  std::uint64_t pid_namespace = 0;  // … where the number counts (inode of /proc/PID/ns/pid).
  Share share;
  std::uint64_t held_bytes = 0;
  std::string command;  // At most 15 bytes.
};

struct Ledger {
  std::uint64_t total_bytes = 0;
  // By slot; nothing in a free slot.
  std::array<std::optional<LedgerEntry>, ledger_slots> entries = {};
};

// The encoded header, an encoded entry, and a free slot.
using LedgerSlot = std::array<char, ledger_slot_bytes>;
LedgerSlot header_slot(std::uint64_t total_bytes);
LedgerSlot entry_slot(const LedgerEntry& entry);
constexpr std::size_t ledger_offset(std::size_t slot) {
  return (1 + slot) * ledger_slot_bytes;
}

// Whether the file was never written, or its creator was killed before writing the header.
bool is_blank_ledger(std::string_view bytes);

// Fails on anything that the functions above do not write, on shares that cannot be kept, and if
// more is held than there is, because a wrong budget is worse than none.
Result<Ledger> parse_ledger(std::string_view bytes);

struct LedgerClaims {
  std::vector<Claim> claims;
  std::vector<std::size_t> slots;  // Each claim's slot.
};
LedgerClaims claims_of(const Ledger& ledger);

}  // namespace headroom::allocator
