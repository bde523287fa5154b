// SPDX-License-Identifier: Apache-2.0
// The stack machine that a pickle is a program for, without the instructions that do more than make
// data. For pickle.h alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/snapshot/pickle.h"

namespace headroom::allocator {

class PickleMachine {
 public:
  explicit PickleMachine(std::string_view text) : text_(text) {}
  Result<Pickle> run();

 private:
  // One of them knows the instruction; `known` says which.
  bool run_constant(unsigned char code);
  bool run_text(unsigned char code);
  bool run_container(unsigned char code);
  bool run_stack(unsigned char code);
  bool run_line(unsigned char code);

  // The input. Each of them marks the run as failed where the text does not have it.
  std::uint64_t number(unsigned bytes);
  std::string_view take(std::uint64_t bytes);
  std::string_view line();

  // Values.
  void push(PickleValue value);
  void push_integer(bool negative, std::uint64_t bits);
  void push_long(std::string_view little_endian);
  void push_real(double value);
  void push_text(PickleKind kind, std::string_view text);
  void push_unescaped(std::optional<std::string> text);
  void push_decimal(std::string_view digits);
  void push_container(PickleKind kind, std::size_t items);  // The last so many of the stack.

  // Containers and the stack. `from`: where the items begin on the stack; all to its end are used.
  std::optional<std::size_t> pop_mark();
  void extend(PickleKind kind, std::size_t from);
  void append_items(std::uint64_t container, std::size_t from);
  bool has(std::size_t values);

  void memoize(std::uint64_t place);
  void recall(std::uint64_t place);

  void fail(std::string what, std::string next = {});
  bool object_fits();

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t instruction_ = 0;  // Where the present one begins.
  std::vector<PickleValue> stack_;
  std::vector<std::size_t> marks_;  // Sizes of the stack.
  std::vector<PickleValue> memo_;
  std::uint64_t objects_ = 0;
  std::optional<Error> error_;
  Pickle made_;
};

}  // namespace headroom::allocator
