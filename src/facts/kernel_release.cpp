// SPDX-License-Identifier: Apache-2.0
#include "facts/kernel_release.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace headroom::facts {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

struct Mark {
  std::string_view text, distribution;
};

std::string_view name_of(std::string_view distribution) {
  constexpr std::array names = {
      Mark{"ubuntu", "Ubuntu"},   Mark{"debian", "Debian"},   Mark{"fedora", "Fedora"},
      Mark{"rhel", "Red Hat"},    Mark{"proxmox", "Proxmox"}, Mark{"suse", "SUSE"},
      Mark{"steamos", "SteamOS"},
  };
  for (const Mark& name : names) {
    if (name.text == distribution) return name.distribution;
  }
  return "this distribution";
}

// What the kernel's own name shows of who built it. Ubuntu's are "6.17.0-19-generic", the third
// number always 0; Debian's older ones look the same and are told by the architecture.
std::string find_distribution(std::string_view release, const KernelVersion& version) {
  constexpr std::array marks = {
      Mark{"+deb", "debian"},   Mark{".fc", "fedora"},     Mark{".el", "rhel"},
      Mark{"-pve", "proxmox"},  Mark{"-valve", "steamos"}, Mark{"-arch", "arch"},
      Mark{"-default", "suse"}, Mark{"-cachyos", "arch"},
  };
  for (const Mark& mark : marks) {
    if (release.find(mark.text) != std::string_view::npos) return std::string(mark.distribution);
  }
  const auto parts = split(release, '-');
  if (parts.size() < 3 || !is_number(parts[1]) || version[2] != 0) return "";
  const bool architecture = parts[2] == "amd64" || parts[2] == "arm64" || parts[2] == "cloud";
  return architecture ? "debian" : "ubuntu";
}

struct PackageNumber {
  std::uint64_t abi = 0;
  std::string rest;  // ".19~24.04.2"; empty where uname alone is known.
};

std::optional<PackageNumber> parse_package(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto abi = parse_u64(text.substr(0, digits));
  if (!abi) return std::nullopt;
  return PackageNumber{*abi, std::string(text.substr(digits))};
}

// The numbers of ".19~24.04.2", which order two uploads of one kernel.
std::vector<std::uint64_t> upload_numbers(std::string_view rest) {
  std::vector<std::uint64_t> numbers;
  for (std::size_t at = 0; at < rest.size();) {
    const std::size_t digits = rest.find_first_not_of("0123456789", at);
    const std::size_t end = std::min(digits, rest.size());
    if (end > at) numbers.push_back(parse_u64(rest.substr(at, end - at)).value_or(UINT64_MAX));
    at = std::max(end, at + 1);
  }
  return numbers;
}

FixState compare_packages(const KernelRelease& kernel, const knowledge::UbuntuPackage& first) {
  const std::string wanted = first.series + "-" + first.package;
  const auto have = parse_package(kernel.package);
  const auto want = parse_package(first.package);
  if (!have || !want) return {HasFix::cannot_tell, "Ubuntu's package number could not be read."};
  const auto state = [&](bool has) {
    return FixState{has ? HasFix::yes : HasFix::no,
                    fmt::format("Ubuntu's {} kernels have it from {} on; this is {}.",
                                first.flavour, wanted, kernel.package)};
  };
  if (have->abi != want->abi) return state(have->abi > want->abi);
  if (want->rest.empty()) return state(true);
  if (have->rest.empty()) {
    return {HasFix::cannot_tell,
            fmt::format("Ubuntu has it from package {} on, but uname shows only {} of that.",
                        wanted, kernel.package)};
  }
  return state(upload_numbers(have->rest) >= upload_numbers(want->rest));
}

// Ubuntu builds "generic" in variants of the same source.
bool same_flavour(std::string_view kernel, std::string_view listed) {
  return kernel == listed ||
         (listed == "generic" && (kernel.starts_with("generic") || kernel == "lowlatency"));
}

std::optional<FixState> ask_ubuntu(const KernelRelease& kernel, const knowledge::KernelFix& fix) {
  for (const knowledge::UbuntuPackage& first : fix.ubuntu) {
    const auto series = parse_kernel_version(first.series);
    if (!series || !same_flavour(kernel.flavour, first.flavour)) continue;
    if (kernel.version == *series) return compare_packages(kernel, first);
    if (kernel.version < *series) {
      return FixState{HasFix::no, fmt::format("Ubuntu's {} kernels have it from {}-{} on.",
                                              first.flavour, first.series, first.package)};
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<KernelRelease> parse_kernel_release(std::string_view release,
                                                  std::string_view signature) {
  release = trim(release);
  const auto version = parse_kernel_version(release);
  if (!version) return std::nullopt;
  KernelRelease kernel;
  kernel.version = *version;
  kernel.distribution = find_distribution(release, kernel.version);
  if (kernel.distribution != "ubuntu") return kernel;
  const auto parts = split(release, '-');
  kernel.package = parts[1];
  kernel.flavour = parts[2];
  // Only the signature of this very kernel counts: "Ubuntu VERSION-PACKAGE-FLAVOUR UPSTREAM".
  const auto words = split_words(signature);
  if (words.size() < 2 || words[0] != "Ubuntu") return kernel;
  const std::string start = fmt::format("{}-{}.", parts[0], kernel.package);
  const std::size_t dash = words[1].rfind('-');
  if (words[1].starts_with(start) && dash != std::string_view::npos && dash > parts[0].size() + 1) {
    kernel.package = words[1].substr(parts[0].size() + 1, dash - parts[0].size() - 1);
  }
  return kernel;
}

FixState has_fix(const KernelRelease& kernel, const knowledge::KernelFix& fix, bool own_driver) {
  if (own_driver) {
    return {HasFix::cannot_tell,
            "AMD's DKMS package replaces the kernel's own driver, so the kernel version does not "
            "show which changes it has."};
  }
  const auto mainline = parse_kernel_version(fix.mainline);
  if (!mainline) return {HasFix::cannot_tell, "The table names no kernel.org release."};
  const std::string upstream = fmt::format("Linux has it from {} on", fix.mainline);
  if (kernel.version >= *mainline) return {HasFix::yes, upstream + "."};
  bool may_carry = false;
  if (kernel.distribution == "ubuntu") {
    if (const auto answer = ask_ubuntu(kernel, fix)) return *answer;
    // Another flavour, a later series than those listed, or one that hides its stable releases.
    const bool same_series =
        kernel.version[0] == (*mainline)[0] && kernel.version[1] == (*mainline)[1];
    may_carry = same_series || !fix.ubuntu.empty();
  }
  const auto carrier = fix.may_carry.find(kernel.distribution);
  const auto since =
      carrier == fix.may_carry.end() ? std::nullopt : parse_kernel_version(carrier->second);
  may_carry = may_carry || (since && kernel.version >= *since);
  if (!may_carry) return {HasFix::no, upstream + "."};
  return {
      HasFix::cannot_tell,
      fmt::format(
          "{}; kernels of {} also contain later changes, and their version does not show which.",
          upstream, name_of(kernel.distribution))};
}

bool in_range(const KernelVersion& version, const knowledge::VersionRange& range) {
  // "0" is before every version; the parser wants two parts.
  const auto since = range.since == "0" ? KernelVersion{} : parse_kernel_version(range.since);
  const auto before = parse_kernel_version(range.before);
  return since && before && version >= *since && version < *before;
}

}  // namespace headroom::facts
