// SPDX-License-Identifier: Apache-2.0
#include "machine/gpu_recover.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/text.h"
#include "machine/os_error.h"
#include "machine/root_folder.h"

namespace headroom::machine {

Status reset_gpu(const std::string& root, std::uint64_t card) {
  const std::string path = fmt::format("/sys/kernel/debug/dri/{}/amdgpu_gpu_recover", card);
  HEADROOM_TRY(const RootFolder folder, RootFolder::open(root));
  const int opened = folder.open_path(path, O_RDONLY | O_CLOEXEC);
  if (opened < 0) return os_error(-opened, "opening " + path);
  const Descriptor file(opened);
  std::array<char, 256> text{};
  ssize_t count = -1;
  do {
    count = ::read(file.get(), text.data(), text.size());
  } while (count < 0 && errno == EINTR);
  if (count < 0) return os_error(errno, "reading " + path);
  // Kernels before 5.19 answer with a word instead of the result.
  const auto result = parse_i64(trim({text.data(), static_cast<std::size_t>(count)}));
  if (result && *result != 0) {
    return Error{Errc::io, fmt::format("{} says that the reset failed ({})", path, *result),
                 "sudo dmesg"};
  }
  return Done{};
}

}  // namespace headroom::machine
