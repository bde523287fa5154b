// SPDX-License-Identifier: Apache-2.0
// Text that somebody may have pasted: what is put together again has the lines' numbers in their
// order, hides no line end in a line, and loses no more than blanks, marks and what entities stand
// for. The first byte is the width at which the text is folded before.
#include <string>

#include "fuzz.h"
#include "logs/restore_paste.h"

namespace {

using namespace headroom;
using namespace headroom::fuzz;

struct Tables {
  knowledge::SignatureTable signatures = *knowledge::load_signatures();
  logs::Matcher matcher = *logs::Matcher::make(signatures);
};

std::string folded(std::string_view text, std::size_t width) {
  std::string out;
  std::size_t column = 0;
  for (const char byte : text) {
    if (byte == '\n') {
      column = 0;
    } else if (++column > width) {
      out += '\n';
      column = 1;
    }
    out += byte;
  }
  return out;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Tables tables;
  if (size == 0) return 0;
  const std::string text = folded(to_text(data, size).substr(1), std::size_t{data[0]} + 40);
  const auto lines = logs::restore_paste(text, tables.matcher);
  if (!lines) return 0;
  std::uint64_t ends = 1, last = 0;
  for (const char byte : text) ends += byte == '\n' ? 1 : 0;
  std::size_t bytes = 0;
  for (const logs::PastedLine& line : *lines) {
    require(line.number >= 1 && line.number >= last && line.number <= ends);
    require(line.text.find('\n') == std::string::npos);
    last = line.number;
    bytes += line.text.size() + 1;
  }
  // Joined words get one blank where there was a line's end; a frame's two panes have two ends.
  require(bytes <= 2 * text.size() + 2);
  return 0;
}
