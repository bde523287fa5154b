// SPDX-License-Identifier: Apache-2.0
#include "facts/fdinfo.h"

#include <array>
#include <map>
#include <utility>

#include "base/text.h"

namespace headroom::facts {
namespace {

using Values = std::map<std::string_view, std::string_view>;

// "8388608 KiB", "64 MiB", "8 GiB", or bytes without a unit; the oldest layout writes "kB" for KiB.
std::optional<Bytes> parse_amount(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, unsigned>, 4> units = {
      {{"KiB", 10}, {"kB", 10}, {"MiB", 20}, {"GiB", 30}}};
  const auto words = split_words(text);
  if (words.empty() || words.size() > 2) return std::nullopt;
  const auto number = parse_u64(words[0]);
  if (!number) return std::nullopt;
  if (words.size() == 1) return Bytes{*number};
  for (const auto& [unit, shift] : units) {
    if (words[1] == unit && *number <= UINT64_MAX >> shift) return Bytes{*number << shift};
  }
  return std::nullopt;
}

std::optional<Bytes> find_amount(const Values& values, const std::string& key) {
  const auto found = values.find(key);
  return found == values.end() ? std::nullopt : parse_amount(found->second);
}

std::optional<Bytes> private_amount(const Values& values, const std::string& region) {
  if (const auto resident = find_amount(values, "drm-resident-" + region)) {
    const auto shared = find_amount(values, "drm-shared-" + region);
    return saturating_sub(*resident, shared ? *shared : Bytes{});
  }
  if (const auto memory = find_amount(values, "drm-memory-" + region)) return memory;
  return find_amount(values, region + " mem");
}

}  // namespace

std::optional<DrmClient> parse_fdinfo(std::string_view text) {
  Values values;
  for (const std::string_view line : split_lines(text)) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    values.emplace(trim(line.substr(0, colon)), trim(line.substr(colon + 1)));
  }
  DrmClient client;
  const auto take = [&values](std::string_view key) {
    const auto found = values.find(key);
    return found == values.end() ? std::string_view() : found->second;
  };
  client.pdev = take("drm-pdev").empty() ? take("pdev") : take("drm-pdev");
  client.driver = take("drm-driver");
  const auto id = parse_u64(take("drm-client-id"));
  client.pasid = parse_u64(take("pasid"));
  client.vram = private_amount(values, "vram");
  client.gtt = private_amount(values, "gtt");
  // The oldest layout (5.x) has neither driver nor client id; its pasid tells clients apart.
  const bool oldest = client.driver.empty() && client.vram && client.pasid;
  if (oldest) client.driver = "amdgpu";
  if (client.driver.empty() || client.pdev.empty() || (!id && !oldest)) return std::nullopt;
  client.client_id = id ? *id : *client.pasid;
  return client;
}

}  // namespace headroom::facts
