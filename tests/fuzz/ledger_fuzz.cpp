// SPDX-License-Identifier: Apache-2.0
// The ledger of a shared device: what is accepted keeps the rule. Since a checksum stands before
// most of the reader, the input is also taken as the numbers of entries that were sealed well.
#include <algorithm>
#include <cstring>
#include <string>

#include "allocator/files/ledger.h"
#include "fuzz.h"

namespace headroom::fuzz {
namespace {

using namespace allocator;

void check_ledger(std::string_view bytes) {
  const auto ledger = parse_ledger(bytes);
  if (!ledger) {
    require(ledger.error().message.starts_with("expected the ledger"));
    return;
  }
  const LedgerClaims claims = claims_of(*ledger);
  std::uint64_t held = 0;
  for (const Claim& claim : claims.claims) held += claim.held_bytes;
  require(held <= ledger->total_bytes);
  for (std::size_t i = 0; i < claims.claims.size(); ++i)
    require(grantable(ledger->total_bytes, claims.claims, i) <= ledger->total_bytes - held);
}

std::uint64_t number_at(std::string_view bytes, std::size_t index) {
  std::uint64_t number = 0;
  const std::size_t at = std::min(index * sizeof number, bytes.size());
  std::memcpy(&number, bytes.data() + at, std::min(sizeof number, bytes.size() - at));
  return number;
}

std::string sealed(std::string_view numbers) {
  std::string bytes(ledger_bytes, '\0');
  const auto put = [&](std::size_t offset, const LedgerSlot& slot) {
    bytes.replace(offset, slot.size(), slot.data(), slot.size());
  };
  put(0, header_slot(number_at(numbers, 0)));
  const std::size_t entries = std::min(numbers.size() / 24, ledger_slots);
  for (std::size_t i = 0; i < entries; ++i) {
    LedgerEntry entry;
    entry.pid = number_at(numbers, i * 3 + 1);
    entry.share = {static_cast<ShareKind>(entry.pid % 3), number_at(numbers, i * 3 + 2)};
    entry.held_bytes = number_at(numbers, i * 3 + 3);
    put(ledger_offset(i), entry_slot(entry));
  }
  return bytes;
}

}  // namespace
}  // namespace headroom::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;
  fuzz::check_ledger(fuzz::to_text(data, size));
  fuzz::check_ledger(fuzz::sealed(fuzz::to_text(data, size)));
  return 0;
}
