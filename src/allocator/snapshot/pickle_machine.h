// SPDX-License-Identifier: Apache-2.0
// The stack machine that runs a pickle, without the instructions that do more than make data. Only
// pickle.h uses it.
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
  // Exactly one of these functions knows an instruction; they return whether they did.
  bool run_constant(unsigned char code);
  bool run_text(unsigned char code);
  bool run_container(unsigned char code);
  bool run_stack(unsigned char code);
  bool run_line(unsigned char code);

  // Reading the input. Each of these marks the run as failed if the text ends too early.
  std::uint64_t number(unsigned bytes);
  std::string_view take(std::uint64_t bytes);
  std::string_view line();

  // Making values.
  void push(PickleValue value);
  void push_integer(bool negative, std::uint64_t bits);
  void push_long(std::string_view little_endian);
  void push_real(double value);
  void push_text(PickleKind kind, std::string_view text);
  void push_unescaped(std::optional<std::string> text);
  void push_decimal(std::string_view digits);
  void push_container(PickleKind kind, std::size_t items);  // Takes the top items.

  // Filling containers. `from` is where the items begin on the stack; all up to its top are used.
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
  std::size_t instruction_ = 0;  // The offset of the present instruction.
  std::vector<PickleValue> stack_;
  std::vector<std::size_t> marks_;  // Stack sizes at open marks.
  std::vector<PickleValue> memo_;
  std::uint64_t objects_ = 0;
  std::optional<Error> error_;
  Pickle made_;
};

}  // namespace headroom::allocator
