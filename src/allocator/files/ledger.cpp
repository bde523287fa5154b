// SPDX-License-Identifier: Apache-2.0
#include "allocator/files/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "allocator/forensics/name_table.h"
#include "base/bytes.h"

namespace headroom::allocator {
namespace {

constexpr std::string_view magic = "HRLEDGER";
constexpr std::uint64_t version = 1;
constexpr std::size_t words = ledger_slot_bytes / sizeof(std::uint64_t);
constexpr std::size_t check_word = words - 1;
constexpr std::size_t command_word = 8;
constexpr std::size_t command_bytes = 16;
// Sums of 64 such numbers do not overflow.
constexpr std::uint64_t max_bytes = std::uint64_t{1} << 56U;

using Words = std::array<std::uint64_t, words>;

Error no_ledger(std::string_view found) {
  return {Errc::invalid,
          fmt::format("expected the ledger of a shared device (magic {}, version {}), found {}",
                      magic, version, found),
          "when no job uses it any more, remove the file and start again"};
}

// FNV-1a.
std::uint64_t checksum(const LedgerSlot& slot) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (std::size_t i = 0; i < check_word * sizeof(std::uint64_t); ++i)
    hash = (hash ^ static_cast<unsigned char>(slot[i])) * 0x100000001B3U;
  return hash;
}

LedgerSlot sealed(const Words& content) {
  LedgerSlot slot;
  std::memcpy(slot.data(), content.data(), slot.size());
  const std::uint64_t check = checksum(slot);
  std::memcpy(slot.data() + check_word * sizeof check, &check, sizeof check);
  return slot;
}

LedgerSlot slot_at(std::string_view bytes, std::size_t offset) {
  LedgerSlot slot;
  bytes.copy(slot.data(), slot.size(), offset);
  return slot;
}

Words words_of(const LedgerSlot& slot) {
  Words content;
  std::memcpy(content.data(), slot.data(), slot.size());
  return content;
}

Result<Words> unsealed(const LedgerSlot& slot, std::string_view what) {
  const Words content = words_of(slot);
  if (content[check_word] != checksum(slot))
    return no_ledger(fmt::format("{} with a wrong checksum", what));
  return content;
}

Result<std::optional<LedgerEntry>> read_entry(const LedgerSlot& slot, std::size_t number) {
  const bool taken = std::any_of(slot.begin(), slot.end(), [](char c) { return c != 0; });
  if (!taken) return std::optional<LedgerEntry>();
  const std::string what = fmt::format("slot {}", number);
  HEADROOM_TRY(const Words content, unsealed(slot, what));
  LedgerEntry entry;
  entry.pid = content[1];
  entry.start_ticks = content[2];
  entry.pid_namespace = content[3];
  entry.share.amount = content[5];
  entry.held_bytes = content[6];
  const std::string_view command(slot.data() + command_word * sizeof(std::uint64_t), command_bytes);
  entry.command = printable_name(command.substr(0, command.find('\0')));
  if (content[4] > 1 || entry.pid == 0) return no_ledger(what + " that makes no sense");
  entry.share.kind = static_cast<ShareKind>(content[4]);
  const bool weight = entry.share.kind == ShareKind::weight;
  if (weight && (entry.share.amount == 0 || entry.share.amount > max_share_weight))
    return no_ledger(fmt::format("{} with a weight of {}", what, entry.share.amount));
  if (entry.held_bytes > max_bytes || (!weight && entry.share.amount > max_bytes))
    return no_ledger(what + " with more than any device has");
  return std::optional(entry);
}

}  // namespace

LedgerSlot header_slot(std::uint64_t total_bytes) {
  Words content = {};
  std::memcpy(content.data(), magic.data(), magic.size());
  content[1] = version;
  content[2] = ledger_slots;
  content[3] = total_bytes;
  return sealed(content);
}

LedgerSlot entry_slot(const LedgerEntry& entry) {
  Words content = {};
  content[1] = entry.pid;
  content[2] = entry.start_ticks;
  content[3] = entry.pid_namespace;
  content[4] = static_cast<std::uint64_t>(entry.share.kind);
  content[5] = entry.share.amount;
  content[6] = entry.held_bytes;
  std::memcpy(&content[command_word], entry.command.data(),
              std::min(entry.command.size(), command_bytes - 1));
  return sealed(content);
}

bool is_blank_ledger(std::string_view bytes) {
  const bool long_as_one = bytes.empty() || bytes.size() == ledger_bytes;
  return long_as_one && std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == 0; });
}

Result<Ledger> parse_ledger(std::string_view bytes) {
  if (!bytes.starts_with(magic)) return no_ledger("something else");
  if (bytes.size() != ledger_bytes) return no_ledger(fmt::format("{} bytes", bytes.size()));
  HEADROOM_TRY(const Words header, unsealed(slot_at(bytes, 0), "a header"));
  if (header[1] != version) return no_ledger(fmt::format("version {}", header[1]));
  if (header[2] != ledger_slots) return no_ledger(fmt::format("{} slots", header[2]));
  Ledger ledger;
  ledger.total_bytes = header[3];
  if (ledger.total_bytes > max_bytes) return no_ledger("more than any device has");
  for (std::size_t i = 0; i < ledger_slots; ++i) {
    HEADROOM_TRY(ledger.entries.at(i), read_entry(slot_at(bytes, ledger_offset(i)), i));
  }
  if (const std::uint64_t backed = backed_bytes(claims_of(ledger).claims);
      backed > ledger.total_bytes)
    return no_ledger(fmt::format("{} held or promised of {}", to_string(Bytes{backed}),
                                 to_string(Bytes{ledger.total_bytes})));
  return ledger;
}

LedgerClaims claims_of(const Ledger& ledger) {
  LedgerClaims result;
  for (std::size_t i = 0; i < ledger_slots; ++i) {
    const auto& entry = ledger.entries.at(i);
    if (!entry) continue;
    result.claims.push_back({entry->share, entry->held_bytes});
    result.slots.push_back(i);
  }
  return result;
}

}  // namespace headroom::allocator
