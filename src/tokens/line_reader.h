// SPDX-License-Identifier: Apache-2.0
// The lines of a file of any length, one at a time: no more of it than a line and a buffer is in
// memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/random_access.h"
#include "base/result.h"

namespace headroom::tokens {

class LineReader {
 public:
  // Longer lines are refused: of a file without line ends nothing would be streamed.
  static constexpr std::size_t longest_line = std::size_t{256} << 20U;

  // Requires: `bytes` outlives the reader.
  explicit LineReader(const RandomAccess& bytes) : bytes_(bytes) {}

  // Replaces `line` by the next line without its end ("\n" or "\r\n"); false at the end of the
  // file. A byte order mark at the beginning of the file is left out.
  Result<bool> next(std::string& line);
  // The number of that line, from 1; 0 before the first.
  std::uint64_t number() const { return number_; }

 private:
  Result<bool> fill();

  const RandomAccess& bytes_;
  std::uint64_t offset_ = 0;  // Of what comes after the buffer.
  std::string buffer_;
  std::size_t at_ = 0;  // In the buffer.
  std::uint64_t number_ = 0;
};

}  // namespace headroom::tokens
