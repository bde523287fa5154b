// SPDX-License-Identifier: Apache-2.0
#include "facts/links.h"

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace headroom::facts {
namespace {

template <class T>
Fact<T> not_understood(const Text& text) {
  return {Missing{Why::not_understood, std::string(trim(*text).substr(0, 80))}, text.source()};
}

// The lesser of what two ends can do; what one end does not say, the other decides.
template <class T>
Fact<T> lesser(const Fact<T>& a, const Fact<T>& b) {
  if (!a || !b) return a ? a : b;
  return *b < *a ? b : a;
}

double capacity(const PcieHop& hop) {
  return *hop.speed * static_cast<double>(*hop.width);
}

std::uint8_t byte_at(const std::string& bytes, std::size_t at) {
  return static_cast<std::uint8_t>(bytes[at]);
}

}  // namespace

Fact<double> parse_link_speed(const Text& text) {
  const Text word = parse_word(text);
  if (!word) return word.absent<double>();
  const auto words = split_words(*word);
  const auto speed =
      words.size() >= 2 && words[1] == "GT/s" ? parse_double(words[0]) : std::nullopt;
  constexpr double fastest = 1000;
  if (!speed || !(*speed > 0) || *speed > fastest) return not_understood<double>(word);
  return {*speed, word.source()};
}

Fact<std::uint64_t> parse_link_width(const Text& text) {
  auto width = parse_number(text);
  constexpr std::uint64_t widest = 32;
  if (width && (*width == 0 || *width > widest)) return not_understood<std::uint64_t>(text);
  return width;
}

Fact<std::uint64_t> parse_numa_node(const Text& text) {
  const Text word = parse_word(text);
  if (word && *word == "-1") {
    return {Missing{Why::not_applicable, "one memory node"}, word.source()};
  }
  return parse_number(text);
}

std::vector<PcieHop> make_hops(const std::vector<PcieDevice>& path) {
  std::vector<PcieHop> hops;
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    const PcieDevice &lower = path[i], &upper = path[i + 1];
    hops.push_back({lower.pci, upper.pci, lower.speed, lesser(lower.max_speed, upper.max_speed),
                    lower.width, lesser(lower.max_width, upper.max_width)});
  }
  if (path.size() == 1) {
    const PcieDevice& only = path[0];
    hops.push_back({only.pci, "", only.speed, only.max_speed, only.width, only.max_width});
  }
  return hops;
}

const PcieHop* weakest(const std::vector<PcieHop>& hops) {
  const PcieHop* least = nullptr;
  for (const PcieHop& hop : hops) {
    if (!hop.speed || !hop.width) continue;
    if (least == nullptr || capacity(hop) < capacity(*least)) least = &hop;
  }
  return least;
}

Fact<bool> parse_acs_redirect(const Text& config) {
  if (!config) return config.absent<bool>();
  constexpr std::size_t extended_at = 0x100, config_size = 4096;
  constexpr std::uint16_t acs_capability = 0x000d;
  constexpr std::uint8_t redirect = 0x04 | 0x08 | 0x20;  // Request, completion, egress control.
  const Source& source = config.source();
  if (config->size() < extended_at) {
    return {Missing{Why::no_permission, "only root sees all of it"}, source};
  }
  std::size_t at = extended_at;
  // Each capability is at least 4 bytes, so a longer list runs in a circle.
  for (std::size_t steps = 0; steps < config_size / 4; ++steps) {
    if (at < extended_at || at + 8 > config->size()) break;
    const auto id =
        static_cast<std::uint16_t>(byte_at(*config, at) | byte_at(*config, at + 1) << 8U);
    if (id == acs_capability) {
      return {(byte_at(*config, at + 6) & redirect) != 0, source};
    }
    at = (byte_at(*config, at + 2) >> 4U) | static_cast<std::size_t>(byte_at(*config, at + 3))
                                                << 4U;
  }
  return {Missing{Why::not_present, "no ACS capability"}, source};
}

std::string_view to_string(IommuMode mode) {
  switch (mode) {
    case IommuMode::off:
      return "off";
    case IommuMode::passthrough:
      return "passthrough";
    case IommuMode::translated:
      break;
  }
  return "translated";
}

Fact<IommuMode> parse_iommu_group(const Text& text) {
  const Text word = parse_word(text);
  if (!word) return word.absent<IommuMode>();
  if (*word == "identity") return {IommuMode::passthrough, word.source()};
  if (*word == "DMA" || *word == "DMA-FQ") return {IommuMode::translated, word.source()};
  return not_understood<IommuMode>(word);
}

Fact<IommuMode> parse_iommu_options(const Text& cmdline) {
  if (!cmdline) return cmdline.absent<IommuMode>();
  std::optional<IommuMode> mode;
  std::string said;
  for (const std::string_view word : split_words(trim(*cmdline))) {
    if (word == "amd_iommu=off" || word == "intel_iommu=off" || word == "iommu=off") {
      return {IommuMode::off, Source{cmdline.source().path, 1, std::string(word)}};
    }
    const bool passes = word == "iommu=pt" || word == "iommu.passthrough=1";
    const bool translates = word == "iommu=nopt" || word == "iommu.passthrough=0";
    if (!passes && !translates) continue;
    mode = passes ? IommuMode::passthrough : IommuMode::translated;
    said = word;
  }
  const Source source{cmdline.source().path, 1, said};
  if (mode) return {*mode, source};
  return {Missing{Why::not_present, "no option sets it"}, source};
}

KfdLink parse_kfd_link(const Text& properties) {
  const auto bandwidth = [&](const char* key) {
    auto found = find_number(properties, key);
    if (found && *found == 0)
      found = {Missing{Why::not_present, "the driver says 0"}, found.source()};
    return found;
  };
  return {find_number(properties, "type"), find_number(properties, "node_to"),
          find_number(properties, "weight"), bandwidth("min_bandwidth"),
          bandwidth("max_bandwidth")};
}

std::string_view to_string(PeerKind kind) {
  return kind == PeerKind::xgmi ? "xgmi" : "pcie";
}

Fact<Bytes> parse_shm_size(const Text& mounts, const Fact<Bytes>& ram) {
  if (!mounts) return mounts.absent<Bytes>();
  Fact<Bytes> size(Missing{Why::not_present, "no such mount"}, mounts.source());
  int number = 0;
  for (const std::string_view line : split_lines(*mounts)) {
    ++number;
    const auto words = split_words(line);
    if (words.size() < 4 || words[1] != "/dev/shm" || words[2] != "tmpfs") continue;
    const Source source{mounts.source().path, number, std::string(line)};
    if (ram) {
      size = {Bytes{ram->value / 2}, source};
    } else {
      size = {Missing{Why::not_present, "half of RAM, which is not known"}, source};
    }
    for (const std::string_view option : split(words[3], ',')) {
      if (!option.starts_with("size=") || !option.ends_with('k')) continue;
      const auto kib = parse_u64(option.substr(5, option.size() - 6));
      size = kib && *kib <= (UINT64_MAX >> 10U)
                 ? Fact<Bytes>(Bytes{*kib << 10U}, source)
                 : Fact<Bytes>(Missing{Why::not_understood, std::string(option)}, source);
    }
  }
  return size;  // Of two mounts on one another, the last is seen.
}

Fact<Bytes> parse_memlock(const Text& limits) {
  const Text rest = find_line(limits, "Max locked memory");
  if (!rest) return rest.absent<Bytes>();
  const auto words = split_words(*rest);
  if (!words.empty() && words[0] == "unlimited") {
    return {Missing{Why::not_limited, ""}, rest.source()};
  }
  const auto bytes = words.empty() ? std::nullopt : parse_u64(words[0]);
  if (!bytes) return not_understood<Bytes>(rest);
  return {Bytes{*bytes}, rest.source()};
}

}  // namespace headroom::facts
