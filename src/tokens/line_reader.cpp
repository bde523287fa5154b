// SPDX-License-Identifier: Apache-2.0
#include "tokens/line_reader.h"

#include <fmt/format.h>

namespace headroom::tokens {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{1} << 20U;
constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

}  // namespace

Result<bool> LineReader::fill() {
  buffer_.resize(buffer_bytes);
  HEADROOM_TRY(const std::size_t count, bytes_.read_at(offset_, buffer_));
  buffer_.resize(count);
  at_ = 0;
  offset_ += count;
  return count > 0;
}

Result<bool> LineReader::next(std::string& line) {
  line.clear();
  bool any = false;
  for (;;) {
    if (at_ == buffer_.size()) {
      HEADROOM_TRY(const bool more, fill());
      if (!more) break;
    }
    any = true;
    const std::size_t end = buffer_.find('\n', at_);
    const std::size_t stop = end == std::string::npos ? buffer_.size() : end;
    line.append(buffer_, at_, stop - at_);
    if (line.size() > longest_line)
      return Error{Errc::invalid,
                   fmt::format("line {}: expected lines of at most {} bytes, found a longer one",
                               number_ + 1, longest_line),
                   "split the data into lines"};
    at_ = stop;
    if (end == std::string::npos) continue;
    ++at_;
    break;
  }
  if (!any) return false;
  if (line.ends_with('\r')) line.pop_back();
  if (number_ == 0 && line.starts_with(byte_order_mark)) line.erase(0, byte_order_mark.size());
  ++number_;
  return true;
}

}  // namespace headroom::tokens
