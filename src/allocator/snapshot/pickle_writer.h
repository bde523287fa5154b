// SPDX-License-Identifier: Apache-2.0
// Writes plain data as a pickle of protocol 4, in the instructions that both Python and the viewer
// at pytorch.org/memory_viz know (torch/utils/viz/MemoryViz.js has a reader of its own, which takes
// protocols 2 to 4 and lists in pieces that fit on its stack).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace headroom::allocator {

class PickleWriter {
 public:
  PickleWriter();

  void integer(std::uint64_t value);
  void boolean(bool value);
  // Written in full the first time, then referred to. Must be UTF-8.
  void text(std::string_view value);

  // A dict is written as begin_dict(), then text keys and values in turn, then end_dict().
  void begin_dict() { bytes_ += "}("; }
  void end_dict() { bytes_ += 'u'; }
  // Turns the last two values into one tuple.
  void pair() { bytes_ += '\x86'; }
  // Writes a list. Calls write(element) for each element, which writes one value.
  template <class Elements, class Write>
  void list(const Elements& elements, Write&& write);

  // Remembers the value that was just written; recall() writes it again as the same object.
  std::uint32_t remember();
  void recall(std::uint32_t number);

  // Returns the whole pickle. Requires: exactly one value was written.
  std::string take();

 private:
  static constexpr std::size_t list_piece = 1000;  // As many as Python writes at once.

  void little_endian(std::uint64_t value, unsigned count);

  std::string bytes_;
  std::uint32_t remembered_ = 0;
  std::unordered_map<std::string, std::uint32_t> texts_;
};

template <class Elements, class Write>
void PickleWriter::list(const Elements& elements, Write&& write) {
  bytes_ += ']';
  std::size_t count = 0;
  for (const auto& element : elements) {
    if (count % list_piece == 0) bytes_ += count == 0 ? "(" : "e(";
    write(element);
    ++count;
  }
  if (count > 0) bytes_ += 'e';
}

}  // namespace headroom::allocator
