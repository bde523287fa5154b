// SPDX-License-Identifier: Apache-2.0
#include "allocator/snapshot/pickle.h"

#include <bit>
#include <limits>

namespace headroom::allocator {

// The lowest payload bits of an integer say whether the others are the value or its index.
std::optional<std::int64_t> Pickle::to_signed(PickleValue value) const {
  if (value.kind() != PickleKind::integer) return std::nullopt;
  const std::uint64_t rest = value.payload() >> 2U;
  const std::uint64_t bits = (value.payload() & 2U) != 0 ? numbers_[rest] : rest;
  if (bits > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return std::nullopt;
  // A negative number is kept as its complement, which is not negative.
  const auto number = static_cast<std::int64_t>(bits);
  return (value.payload() & 1U) != 0 ? ~number : number;
}

std::optional<std::uint64_t> Pickle::to_unsigned(PickleValue value) const {
  if (value.kind() != PickleKind::integer || (value.payload() & 1U) != 0) return std::nullopt;
  const std::uint64_t rest = value.payload() >> 2U;
  return (value.payload() & 2U) != 0 ? numbers_[rest] : rest;
}

std::optional<double> Pickle::to_real(PickleValue value) const {
  if (value.kind() != PickleKind::real) return std::nullopt;
  return std::bit_cast<double>(numbers_[value.payload()]);
}

std::optional<bool> Pickle::to_bool(PickleValue value) const {
  if (value.kind() != PickleKind::boolean) return std::nullopt;
  return value.payload() != 0;
}

std::optional<std::string_view> Pickle::to_text(PickleValue value) const {
  if (value.kind() != PickleKind::text && value.kind() != PickleKind::bytes) return std::nullopt;
  return texts_[value.payload()];
}

std::size_t Pickle::size(PickleValue value) const {
  if (!is_container(value)) return 0;
  std::size_t count = 0;
  const Span* span = &containers_[value.payload()].span;
  for (;;) {
    count += span->count;
    if (span->next == no_span) return count;
    span = &spans_[span->next];
  }
}

bool looks_like_pickle(std::string_view text) {
  // Protocol 2 and later begin with PROTO; earlier ones with a dict or a list, made by a mark or by
  // an instruction of its own.
  return text.starts_with('\x80') || text.starts_with('}') || text.starts_with(']') ||
         text.starts_with("(d") || text.starts_with("(l");
}

}  // namespace headroom::allocator
