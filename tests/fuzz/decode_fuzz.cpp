// SPDX-License-Identifier: Apache-2.0
// Bytes as they were logged: the same text however they are cut, without escapes and NULs, and what
// is shown of it is UTF-8 without control characters.
#include <string>

#include "fuzz.h"
#include "logs/decode.h"

namespace {

std::string decode(std::string_view bytes, std::size_t piece) {
  headroom::logs::Decoder decoder;
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    text += decoder.decode(bytes.substr(at, piece));
  }
  text += decoder.finish();
  return text;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;
  using namespace headroom::fuzz;
  if (size == 0) return 0;
  const std::string_view bytes = to_text(data, size).substr(1);
  const std::string text = decode(bytes, std::size_t{data[0]} % 17 + 1);
  require(text == decode(bytes, bytes.size() + 1));
  require(text.find('\x1b') == std::string::npos && text.find('\0') == std::string::npos);
  const std::string shown = logs::to_shown(logs::without_backspaces(text), 200);
  require(shown.size() <= 200 && logs::to_shown(shown, 200) == shown);
  require(shown.find('\n') == std::string::npos && shown.find('\b') == std::string::npos);
  return 0;
}
