// SPDX-License-Identifier: Apache-2.0
#include "estimate/printed_size.h"

#include <fmt/format.h>

#include <cmath>

#include "allocator/models/torch_policy.h"
#include "base/text.h"

namespace headroom::estimate {
namespace {

constexpr std::uint64_t own_segment_from = (10_MiB).value;

// What allocators that print exact sizes add for alignment (ggml up to 1 KiB, XLA 256 bytes).
constexpr std::uint64_t padding = 1024;

bool is_within(const PrintedSize& printed, std::uint64_t bytes) {
  if (printed.precision == 0)
    return bytes <= printed.size.value && printed.size.value - bytes <= padding;
  const double off = static_cast<double>(bytes) - static_cast<double>(printed.size.value);
  // Half a byte for the rounding of the printed size itself.
  return std::abs(off) <= printed.precision / 2 + 0.5;
}

// Decimals as written: 2 of "3.99GiB".
std::size_t decimals_of(std::string_view text) {
  const std::size_t point = text.find('.');
  if (point == std::string_view::npos) return 0;
  const std::size_t end = text.find_first_not_of("0123456789", point + 1);
  return (end == std::string_view::npos ? text.size() : end) - point - 1;
}

}  // namespace

bool PrintedSize::stands_for(std::uint64_t tensor_bytes) const {
  if (is_within(*this, tensor_bytes)) return true;
  return tensor_bytes >= own_segment_from && tensor_bytes <= UINT64_MAX / 2 &&
         is_within(*this, allocator::torch_segment_bytes(tensor_bytes));
}

Bytes PrintedSize::largest() const {
  return size + Bytes{static_cast<std::uint64_t>(precision / 2)};
}

Bytes PrintedSize::smallest() const {
  if (precision == 0) return saturating_sub(size, Bytes{padding});
  const Bytes lowest = saturating_sub(size, Bytes{static_cast<std::uint64_t>(precision / 2)});
  // Whole segments that print this: all that is rounded up to the first of them does as well.
  const Bytes segment{allocator::torch_segment_bytes(lowest.value)};
  const bool rounds = lowest.value >= own_segment_from && segment <= largest();
  return rounds ? segment - 2_MiB + 1_B : lowest;
}

bool PrintedSize::is_shared_segment() const {
  return size == 2_MiB || size == 20_MiB;
}

Result<PrintedSize> parse_printed_size(std::string_view text) {
  text = trim(text);
  if (text.ends_with("bytes")) text.remove_suffix(5);  // As JAX and TensorFlow print them.
  HEADROOM_TRY(const Bytes size, parse_bytes(text));
  const std::size_t unit = text.find_first_of("kKmMgGtT");
  if (unit == std::string_view::npos) return PrintedSize{size, 0};
  HEADROOM_TRY(const Bytes one, parse_bytes("1" + std::string(trim(text.substr(unit)))));
  const std::size_t decimals = decimals_of(text);
  const double steps = std::pow(10.0, static_cast<double>(decimals == 0 ? 2 : decimals));
  return PrintedSize{size, static_cast<double>(one.value) / steps};
}

std::string to_printed(std::uint64_t tensor_bytes) {
  const std::uint64_t bytes = allocator::torch_segment_bytes(tensor_bytes);
  const auto amount = static_cast<double>(bytes);
  if (bytes <= (1_GiB).value) return fmt::format("{:.2f} MiB", amount / 1048576.0);
  return fmt::format("{:.2f} GiB", amount / 1073741824.0);
}

}  // namespace headroom::estimate
