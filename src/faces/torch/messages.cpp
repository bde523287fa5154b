// SPDX-License-Identifier: Apache-2.0
#include "faces/torch/messages.h"

#include <fmt/format.h>

namespace headroom::torch_face {

std::string torch_size(std::uint64_t bytes) {
  constexpr std::uint64_t kib = 1024;
  const auto in = [bytes](std::uint64_t unit) {
    return static_cast<double>(bytes) / static_cast<double>(unit);
  };
  if (bytes <= kib) return fmt::format("{} bytes", bytes);
  if (bytes <= kib * kib) return fmt::format("{:.2f} KiB", in(kib));
  if (bytes <= kib * kib * kib) return fmt::format("{:.2f} MiB", in(kib * kib));
  return fmt::format("{:.2f} GiB", in(kib * kib * kib));
}

std::string out_of_memory_message(const std::string& runtime, std::uint64_t bytes, int device,
                                  const std::string& report) {
  return fmt::format(
      "{} out of memory. Tried to allocate {} on GPU {}, by headroom's allocator.\n{}", runtime,
      torch_size(bytes), device, report);
}

}  // namespace headroom::torch_face
