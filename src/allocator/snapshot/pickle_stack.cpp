// SPDX-License-Identifier: Apache-2.0
// The machine's stack, its memo, and the containers that are filled from them.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "allocator/snapshot/pickle_machine.h"
#include "base/text.h"

namespace headroom::allocator {
namespace {

constexpr std::uint64_t most_objects = std::uint64_t{1} << 26U;
constexpr std::uint64_t most_items = std::uint64_t{1} << 28U;
constexpr std::size_t deepest = 1000;

// Integers below this fit into a value beside its sign and form.
constexpr std::uint64_t inline_limit = std::uint64_t{1} << 58U;

}  // namespace

bool PickleMachine::run_container(unsigned char instruction) {
  switch (instruction) {
    case ']':  // EMPTY_LIST
      push_container(PickleKind::list, 0);
      return true;
    case '}':  // EMPTY_DICT
      push_container(PickleKind::dict, 0);
      return true;
    case ')':  // EMPTY_TUPLE
      push_container(PickleKind::tuple, 0);
      return true;
    case 0x85:  // TUPLE1 to TUPLE3
    case 0x86:
    case 0x87: {
      const std::size_t items = instruction - 0x84U;
      if (has(items)) push_container(PickleKind::tuple, items);
      return true;
    }
    case 't':  // TUPLE
    case 'l':  // LIST
    case 'd':  // DICT
      if (const auto from = pop_mark()) {
        const PickleKind kind = instruction == 't'   ? PickleKind::tuple
                                : instruction == 'l' ? PickleKind::list
                                                     : PickleKind::dict;
        push_container(kind, stack_.size() - *from);
      }
      return true;
    case 'a':  // APPEND
      if (has(2)) extend(PickleKind::list, stack_.size() - 1);
      return true;
    case 's':  // SETITEM
      if (has(3)) extend(PickleKind::dict, stack_.size() - 2);
      return true;
    case 'e':  // APPENDS
    case 'u':  // SETITEMS
      if (const auto from = pop_mark())
        extend(instruction == 'e' ? PickleKind::list : PickleKind::dict, *from);
      return true;
    default:
      return false;
  }
}

bool PickleMachine::run_stack(unsigned char instruction) {
  switch (instruction) {
    case '(':  // MARK
      if (marks_.size() == deepest) {
        fail(fmt::format("more than {} values are open inside each other", deepest));
      } else {
        marks_.push_back(stack_.size());
      }
      return true;
    case '0':  // POP, which removes a mark if one is on top.
      if (!marks_.empty() && marks_.back() == stack_.size()) {
        marks_.pop_back();
      } else if (has(1)) {
        stack_.pop_back();
      }
      return true;
    case '1':  // POP_MARK
      if (const auto from = pop_mark()) stack_.resize(*from);
      return true;
    case '2':  // DUP
      if (has(1)) push(stack_.back());
      return true;
    case 0x94:  // MEMOIZE
      memoize(memo_.size());
      return true;
    case 'q':  // BINPUT
      memoize(number(1));
      return true;
    case 'r':  // LONG_BINPUT
      memoize(number(4));
      return true;
    case 'h':  // BINGET
      recall(number(1));
      return true;
    case 'j':  // LONG_BINGET
      recall(number(4));
      return true;
    default:
      return false;
  }
}

bool PickleMachine::has(std::size_t values) {
  const std::size_t floor = marks_.empty() ? 0 : marks_.back();
  if (stack_.size() - floor >= values) return true;
  fail("the instruction needs a value that is not there");
  return false;
}

std::optional<std::size_t> PickleMachine::pop_mark() {
  if (marks_.empty()) {
    fail("a list, tuple or dict ends that never began");
    return std::nullopt;
  }
  const std::size_t from = marks_.back();
  marks_.pop_back();
  return from;
}

bool PickleMachine::object_fits() {
  if (error_) return false;
  if (++objects_ > most_objects) fail(fmt::format("there are more than {} objects", most_objects));
  return !error_;
}

void PickleMachine::push(PickleValue value) {
  if (error_) return;
  if (stack_.size() == most_items) {
    fail(fmt::format("there are more than {} values at once", most_items));
    return;
  }
  stack_.push_back(value);
}

// `bits` of a negative number are its complement.
void PickleMachine::push_integer(bool negative, std::uint64_t bits) {
  const std::uint64_t sign = negative ? 1 : 0;
  if (bits < inline_limit) {
    push({PickleKind::integer, bits << 2U | sign});
  } else if (object_fits()) {
    made_.numbers_.push_back(bits);
    push({PickleKind::integer, (made_.numbers_.size() - 1) << 2U | 2U | sign});
  }
}

// Pushes two's complement of any length, as LONG1 and LONG4 have it.
void PickleMachine::push_long(std::string_view little_endian) {
  const bool negative = !little_endian.empty() && (little_endian.back() & 0x80) != 0;
  const char filler = negative ? '\xff' : '\0';
  std::uint64_t bits = 0;
  for (std::size_t i = 8; i > 0; --i) {
    const char byte = i <= little_endian.size() ? little_endian[i - 1] : filler;
    bits = bits << 8U | static_cast<unsigned char>(byte);
  }
  if (little_endian.size() > 8 &&
      little_endian.find_first_not_of(filler, 8) != std::string_view::npos) {
    push({PickleKind::huge_integer, 0});
    return;
  }
  if (negative && (bits >> 63U) == 0) {
    push({PickleKind::huge_integer, 0});
    return;
  }
  push_integer(negative, negative ? ~bits : bits);
}

void PickleMachine::push_decimal(std::string_view digits) {
  const bool negative = digits.starts_with('-');
  if (negative) digits.remove_prefix(1);
  if (error_) return;
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) {
    fail("INT or LONG is followed by no number");
    return;
  }
  const auto value = parse_u64(digits);
  if (!value || (negative && *value > std::uint64_t{1} << 63U)) {
    push({PickleKind::huge_integer, 0});
  } else if (negative && *value > 0) {
    push_integer(true, *value - 1);
  } else {
    push_integer(false, *value);
  }
}

void PickleMachine::push_real(double value) {
  if (!object_fits()) return;
  made_.numbers_.push_back(std::bit_cast<std::uint64_t>(value));
  push({PickleKind::real, made_.numbers_.size() - 1});
}

void PickleMachine::push_text(PickleKind kind, std::string_view text) {
  if (!object_fits()) return;
  made_.texts_.push_back(text);
  push({kind, made_.texts_.size() - 1});
}

void PickleMachine::push_unescaped(std::optional<std::string> text) {
  if (error_) return;
  if (!text) {
    fail("STRING or UNICODE is followed by no text with its escapes in order");
    return;
  }
  made_.unescaped_.push_back(*std::move(text));
  push_text(PickleKind::text, made_.unescaped_.back());
}

void PickleMachine::push_container(PickleKind kind, std::size_t items) {
  if (kind == PickleKind::dict && items % 2 != 0) {
    fail("a dict has a key without a value");
    return;
  }
  if (!object_fits()) return;
  made_.containers_.emplace_back();
  const std::uint64_t container = made_.containers_.size() - 1;
  append_items(container, stack_.size() - items);
  push({kind, container});
}

void PickleMachine::extend(PickleKind kind, std::size_t from) {
  const std::size_t floor = marks_.empty() ? 0 : marks_.back();
  if (from <= floor || stack_[from - 1].kind() != kind) {
    fail("items are added to something that cannot have them");
    return;
  }
  if (kind == PickleKind::dict && (stack_.size() - from) % 2 != 0) {
    fail("a dict has a key without a value");
    return;
  }
  append_items(stack_[from - 1].payload(), from);
}

void PickleMachine::append_items(std::uint64_t container, std::size_t from) {
  const std::size_t count = stack_.size() - from;
  if (count == 0 || error_) return;
  if (made_.items_.size() + count > most_items) {
    fail(fmt::format("there are more than {} items", most_items));
    return;
  }
  const auto first = static_cast<std::uint32_t>(made_.items_.size());
  made_.items_.insert(made_.items_.end(), stack_.begin() + static_cast<std::ptrdiff_t>(from),
                      stack_.end());
  stack_.resize(from);
  Pickle::Container& filled = made_.containers_[container];
  Pickle::Span& last = filled.last == Pickle::no_span ? filled.span : made_.spans_[filled.last];
  if (last.count == 0 || last.first + last.count == first) {
    if (last.count == 0) last.first = first;
    last.count += static_cast<std::uint32_t>(count);
    return;
  }
  last.next = static_cast<std::uint32_t>(made_.spans_.size());
  filled.last = last.next;
  made_.spans_.push_back({first, static_cast<std::uint32_t>(count)});
}

void PickleMachine::memoize(std::uint64_t place) {
  if (!has(1) || error_) return;
  // Every writer numbers what it remembers from 0 on, or from 1 on.
  if (place > memo_.size() + 1) {
    fail(fmt::format("memo entry {} is made before {}", place, memo_.size()));
    return;
  }
  if (place >= memo_.size()) memo_.resize(place + 1);
  memo_[place] = stack_.back();
}

void PickleMachine::recall(std::uint64_t place) {
  if (error_) return;
  if (place >= memo_.size() || memo_[place].kind() == PickleKind::absent) {
    fail(fmt::format("memo entry {} was never made", place));
    return;
  }
  push(memo_[place]);
}

}  // namespace headroom::allocator
