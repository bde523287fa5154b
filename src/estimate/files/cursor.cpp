// SPDX-License-Identifier: Apache-2.0
#include "estimate/files/cursor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace headroom::estimate {
namespace {

constexpr std::size_t window_bytes = 64U << 10U;
const char* const again = "download or copy the file again, and compare its size or checksum";

}  // namespace

Cursor::Cursor(const RandomAccess& bytes, std::uint64_t end, std::uint64_t text_limit)
    : bytes_(bytes), end_(std::min(end, bytes.size())), text_left_(text_limit) {}

void Cursor::fail(std::string message, std::string next) {
  if (!problem_) problem_ = Error{Errc::invalid, std::move(message), std::move(next)};
}

void Cursor::cut_off() {
  fail(fmt::format("expected more after byte {}, found the end of the {}", position_,
                   end_ == bytes_.size() ? "file" : "part it belongs to"),
       again);
}

bool Cursor::available(std::uint64_t count) {
  if (ok() && count > left()) cut_off();
  return ok();
}

bool Cursor::fill(char* out, std::uint64_t count) {
  while (count > 0) {
    const std::uint64_t inside = position_ - window_start_;
    if (position_ < window_start_ || inside >= window_.size()) {
      window_.resize(window_bytes);
      auto found = bytes_.read_at(position_, window_);
      if (!found) {
        problem_ = std::move(found).error();
        return false;
      }
      window_.resize(*found);
      window_start_ = position_;
      if (*found == 0) {
        fail("the file became shorter while it was read",
             "make sure that nothing else writes it, and start again");
        return false;
      }
      continue;
    }
    const std::uint64_t chunk = std::min(count, window_.size() - inside);
    out = std::copy_n(window_.begin() + static_cast<std::ptrdiff_t>(inside), chunk, out);
    position_ += chunk;
    count -= chunk;
  }
  return true;
}

std::uint64_t Cursor::read_number(std::uint32_t count, bool big_endian) {
  std::array<char, 8> bytes{};
  if (!available(count) || !fill(bytes.data(), count)) return 0;
  std::uint64_t number = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    number |= std::uint64_t{byte} << (8 * (big_endian ? count - 1 - i : i));
  }
  return number;
}

std::string Cursor::read_text(std::uint64_t length, std::uint64_t max, const char* what) {
  if (!available(length)) return {};
  if (length > std::min(max, text_left_)) {
    fail(fmt::format("at byte {}: expected {} of at most {} bytes, found {}", position_, what,
                     std::min(max, text_left_), length),
         again);
    return {};
  }
  text_left_ -= length;
  std::string text(length, '\0');
  return fill(text.data(), length) ? text : std::string();
}

void Cursor::skip(std::uint64_t count) {
  if (available(count)) position_ += count;
}

std::uint64_t Cursor::enter(std::uint64_t length) {
  const std::uint64_t outer = end_;
  if (available(length)) end_ = position_ + length;
  return outer;
}

void Cursor::leave(std::uint64_t outer_end) {
  if (ok()) position_ = end_;
  end_ = outer_end;
}

}  // namespace headroom::estimate
