// SPDX-License-Identifier: Apache-2.0
// A kernel's name: the first line is uname's release, the rest /proc/version_signature.
#include "facts/kernel_release.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;
  const std::string_view text = fuzz::to_text(data, size);
  const std::size_t end = text.find('\n');
  const auto kernel = facts::parse_kernel_release(
      text.substr(0, end), end == std::string_view::npos ? "" : text.substr(end));
  if (!kernel) return 0;
  knowledge::KernelFix fix;
  fix.mainline = "6.18.4";
  fix.ubuntu = {{"generic", "6.17.0", "19.19~24.04.2"}};
  fix.may_carry = {{"fedora", "6.17"}};
  const facts::FixState state = facts::has_fix(*kernel, fix, false);
  fuzz::require(!state.why.empty());
  const bool newer = kernel->version >= facts::KernelVersion{6, 18, 4};
  fuzz::require(!newer || state.has == facts::HasFix::yes);
  return 0;
}
