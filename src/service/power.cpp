// SPDX-License-Identifier: Apache-2.0
#include "service/power.h"

#include <fmt/format.h>

#include "base/text.h"
#include "machine/clock.h"

namespace headroom::service {
namespace {

constexpr int most_packages = 16;

std::optional<std::uint64_t> read_counter(const machine::Files& files, int package,
                                          const char* name) {
  const auto text = files.read(fmt::format("/sys/class/powercap/intel-rapl:{}/{}", package, name));
  return text ? parse_u64(trim(*text)) : std::nullopt;
}

}  // namespace

PowerLook::PowerLook(const machine::Files& files)
    : files_(files), began_ns_(machine::monotonic_ns()) {
  for (int package = 0; package < most_packages; ++package) {
    const auto uj = read_counter(files_, package, "energy_uj");
    if (!uj) break;
    before_uj_.push_back(*uj);
  }
}

std::optional<double> PowerLook::watts() const {
  if (before_uj_.empty()) return std::nullopt;
  double joules = 0;
  for (std::size_t package = 0; package < before_uj_.size(); ++package) {
    auto now = read_counter(files_, static_cast<int>(package), "energy_uj");
    if (!now) return std::nullopt;
    if (*now < before_uj_[package]) {  // It begins anew after its highest value.
      const auto highest = read_counter(files_, static_cast<int>(package), "max_energy_range_uj");
      if (!highest) return std::nullopt;
      *now += *highest;
    }
    joules += static_cast<double>(*now - before_uj_[package]) / 1e6;
  }
  const double seconds = static_cast<double>(machine::monotonic_ns() - began_ns_) / 1e9;
  if (seconds <= 0) return std::nullopt;
  return joules / seconds;
}

}  // namespace headroom::service
