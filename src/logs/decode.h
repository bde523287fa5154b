// SPDX-License-Identifier: Apache-2.0
// Bytes as they were logged → text to search: UTF-16 becomes UTF-8; colours, other terminal
// sequences and NULs go. Most logs need none of it and are passed through untouched. What comes
// out does not depend on the pieces that went in.
#pragma once

#include <string>
#include <string_view>

namespace headroom::logs {

enum class Encoding { unknown, utf8, utf16_le, utf16_be };

// By the byte order mark, or by where the NULs of the first 64 bytes stand. Unknown if that needs
// more bytes than there are yet.
Encoding detect_encoding(std::string_view bytes);

// UTF-16 without its byte order mark → UTF-8; what is no character becomes U+FFFD. Of an odd number
// of bytes the last one is left out.
std::string utf16_to_utf8(std::string_view bytes, Encoding encoding);

// As a terminal shows it: a backspace takes back the letter before it.
std::string without_backspaces(std::string_view line);

// Fit to be shown: what is no UTF-8 becomes U+FFFD, control characters except tabs go. At most
// `longest` bytes, whole characters.
std::string to_shown(std::string_view text, std::size_t longest);

class Decoder {
 public:
  // Each returns what is text by now; it holds until the next call, or as long as `bytes`.
  std::string_view decode(std::string_view bytes);
  // What was held back as too little to tell the encoding by is read as it is.
  std::string_view finish();

 private:
  // Inside a terminal sequence (ECMA-48), how far.
  enum class Sequence { none, escape, charset, control, string, string_escape };

  std::string_view to_utf8(std::string_view bytes);
  std::string_view without_sequences(std::string_view text);
  void take_sequence_byte(char byte);

  Encoding encoding_ = Encoding::unknown;
  std::string head_;  // The first bytes, until the encoding is known.
  std::string odd_;   // Half a character of UTF-16.
  std::string utf8_;
  std::string cleaned_;
  Sequence sequence_ = Sequence::none;
  std::size_t sequence_size_ = 0;
};

}  // namespace headroom::logs
