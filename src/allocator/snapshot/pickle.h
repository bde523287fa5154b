// SPDX-License-Identifier: Apache-2.0
// Reads Python's pickle format, protocols 0 to 5, as far as plain data needs it: numbers, text,
// bytes, lists, tuples and dictionaries, including shared and cyclic ones. The format is a program
// for a stack machine (CPython, Lib/pickletools.py); this reader knows only the instructions that
// make data. Instructions that would import, call or build an object are refused by name: nothing
// is executed.
//
// Values live in a few arrays of the Pickle and refer to each other by number, so that neither
// millions of them nor cycles cost more than their bytes, and nothing recurses.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace headroom::allocator {

enum class PickleKind : std::uint8_t {
  absent,  // The result of a lookup that finds nothing; never in the data.
  none,
  boolean,
  integer,       // From -2^63 to 2^64 - 1.
  huge_integer,  // Beyond that; its value is not kept.
  real,
  text,
  bytes,
  list,
  tuple,
  dict,
};

// One value. It has a meaning only together with the Pickle that it came from.
class PickleValue {
 public:
  PickleValue() = default;
  PickleKind kind() const { return static_cast<PickleKind>(bits_ & kind_mask); }

 private:
  friend class Pickle;
  friend class PickleMachine;
  static constexpr std::uint64_t kind_mask = 15;
  static constexpr unsigned kind_bits = 4;

  PickleValue(PickleKind kind, std::uint64_t payload)
      : bits_((payload << kind_bits) | static_cast<std::uint64_t>(kind)) {}
  std::uint64_t payload() const { return bits_ >> kind_bits; }

  std::uint64_t bits_ = 0;
};

class Pickle {
 public:
  PickleValue root() const { return root_; }

  // Return nothing if the value is of another kind, or a number that does not fit.
  std::optional<std::uint64_t> to_unsigned(PickleValue value) const;
  std::optional<std::int64_t> to_signed(PickleValue value) const;
  std::optional<double> to_real(PickleValue value) const;
  std::optional<bool> to_bool(PickleValue value) const;
  // The content of text and bytes, as it stands in the input; it is not checked for UTF-8.
  std::optional<std::string_view> to_text(PickleValue value) const;

  // How many items a list, tuple or dict has; 0 for anything else. A dict has two items for each
  // key.
  std::size_t size(PickleValue value) const;
  // The number of a list, tuple or dict, below container_count(). Values that share one object have
  // the same number.
  std::size_t identity(PickleValue value) const { return value.payload(); }
  std::size_t container_count() const { return containers_.size(); }

  // Calls visit(item) for the items of a list, tuple or dict (key, value, key, …) in order, until a
  // call returns false. Returns whether all calls returned true.
  template <class Visit>
  bool each(PickleValue container, Visit&& visit) const;

  // The values of these text keys of a dict, `absent` if it has no such key or is no dict. If a key
  // comes twice, the last one counts. Only the first 256 keys of a dict are looked at, so that a
  // large one that is shared a million times costs no more than a small one.
  template <std::size_t count>
  std::array<PickleValue, count> fields(PickleValue dict,
                                        const std::array<std::string_view, count>& keys) const;
  PickleValue field(PickleValue dict, std::string_view key) const {
    return fields(dict, std::array{key})[0];
  }

 private:
  friend class PickleMachine;

  static constexpr std::uint32_t no_span = UINT32_MAX;
  static constexpr std::size_t keys_looked_at = 256;

  // Items that lie side by side in items_. A container that was filled in several steps has several
  // spans.
  struct Span {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    std::uint32_t next = no_span;
  };
  struct Container {
    Span span;
    std::uint32_t last = no_span;  // In spans_; none if this is the only one.
  };

  static bool is_container(PickleValue value) { return value.kind() >= PickleKind::list; }

  std::deque<std::string> unescaped_;  // Unescaped text of protocol 0, which texts_ refers to.
  std::vector<std::string_view> texts_;
  std::vector<std::uint64_t> numbers_;  // Bits of numbers that do not fit into a value.
  std::vector<PickleValue> items_;
  std::vector<Container> containers_;
  std::vector<Span> spans_;
  PickleValue root_;
};

// The text must outlive the Pickle, which refers to it. Fails, with the offset of the first wrong
// byte, on instructions that do more than make data, on lengths beyond the end of the text, and on
// more than 2^26 objects or 2^28 items; real files have far fewer.
Result<Pickle> parse_pickle(std::string_view text);

// Whether the first bytes are those of a pickle. Every protocol begins with bytes with which none
// of headroom's text formats begins.
bool looks_like_pickle(std::string_view text);

template <class Visit>
bool Pickle::each(PickleValue container, Visit&& visit) const {
  if (!is_container(container)) return true;
  const Span* span = &containers_[container.payload()].span;
  for (;;) {
    for (std::uint32_t i = 0; i < span->count; ++i) {
      if (!visit(items_[span->first + i])) return false;
    }
    if (span->next == no_span) return true;
    span = &spans_[span->next];
  }
}

template <std::size_t count>
std::array<PickleValue, count> Pickle::fields(
    PickleValue dict, const std::array<std::string_view, count>& keys) const {
  std::array<PickleValue, count> found{};
  if (dict.kind() != PickleKind::dict) return found;
  PickleValue* wanted = nullptr;
  std::size_t seen = 0;
  each(dict, [&](PickleValue item) {
    if (seen++ % 2 == 1) {
      if (wanted != nullptr) *wanted = item;
      return seen < 2 * keys_looked_at;
    }
    wanted = nullptr;
    if (item.kind() != PickleKind::text) return true;
    for (std::size_t i = 0; i < count; ++i) {
      if (texts_[item.payload()] == keys[i]) wanted = &found[i];
    }
    return true;
  });
  return found;
}

}  // namespace headroom::allocator
