// SPDX-License-Identifier: Apache-2.0
#include "faces/messages.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

namespace headroom::faces {

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

std::string explain(headroom_allocator* allocator, std::uint64_t bytes, headroom_stream stream) {
  const headroom_request request = {bytes, stream, {HEADROOM_OTHER, 0}};
  std::string text(8192, '\0');
  for (;;) {
    const std::size_t length =
        headroom_explain(allocator, &request, HEADROOM_FORMAT_TEXT, text.data(), text.size());
    if (length == 0) return headroom_last_error();
    const bool fits = length < text.size();  // The whole text, and the zero behind it.
    text.resize(fits ? length : length + 1);
    if (fits) return text;
  }
}

void say(std::string line) {
  std::replace(line.begin(), line.end(), '\n', ' ');
  line += '\n';
  static_cast<void>(::write(STDERR_FILENO, line.data(), line.size()) < 0);
}

}  // namespace headroom::faces
