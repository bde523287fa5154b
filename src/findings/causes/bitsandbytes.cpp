// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/bitsandbytes.h"

#include <fmt/format.h>

#include "base/text.h"
#include "facts/kernel_text.h"

namespace headroom::findings {

std::string library_asked_of(const logs::Observation& seen) {
  const std::string_view backend = seen.value("backend");
  return to_lower(backend.empty() ? seen.value("asked") : backend);
}

const logs::Observation* built_for_another(const logs::Observations& log, std::string_view asked) {
  if (!asked.starts_with("rocm") || asked == "rocm") return nullptr;
  for (const logs::Observation* one : log.of("bitsandbytes-built")) {
    if (one->value("built") != asked) return one;
  }
  return nullptr;
}

bool is_misread(const LogSubject& subject, const logs::Observation& built, std::string_view asked) {
  const auto number = [](std::string_view backend) {
    return backend.starts_with("rocm") ? parse_u64(backend.substr(4)) : std::nullopt;
  };
  const auto there = number(built.value("built"));
  const auto wanted = number(asked);
  if (!there || !wanted) return false;
  // The digits of 7.10 read as tens and ones: 7 * 10 + 10.
  constexpr std::uint64_t least_of_two_digits = 10;
  const std::uint64_t major = *there / 100, minor = *there % 100;
  if (minor >= least_of_two_digits && major > 0 && major * 10 + minor == *wanted) return true;
  // PyTorch's own release is that of the library.
  const auto torch = subject.scene.torch_rocm
                         ? facts::parse_kernel_version(*subject.scene.torch_rocm)
                         : std::nullopt;
  if (!torch) return false;
  const auto digits = parse_u64(fmt::format("{}{}", (*torch)[0], (*torch)[1]));
  return digits == there && digits != wanted;
}

}  // namespace headroom::findings
