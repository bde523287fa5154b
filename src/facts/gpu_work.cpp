// SPDX-License-Identifier: Apache-2.0
#include "facts/gpu_work.h"

#include "base/text.h"

namespace headroom::facts {

std::optional<ClientWork> parse_client_work(std::string_view fdinfo) {
  ClientWork work;
  std::optional<std::uint64_t> client;
  bool tells_time = false;
  for (const std::string_view line : split_lines(fdinfo)) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view key = trim(line.substr(0, colon));
    const auto words = split_words(line.substr(colon + 1));
    if (words.empty()) continue;
    if (key == "drm-pdev") work.pdev = words[0];
    if (key == "drm-client-id") client = parse_u64(words[0]);
    // "drm-engine-capacity-NAME" counts engines and has no unit.
    const bool is_time = key.starts_with("drm-engine-") && words.size() == 2 && words[1] == "ns";
    const auto time_ns = is_time ? parse_u64(words[0]) : std::nullopt;
    if (!time_ns) continue;
    work.engines_ns += *time_ns;
    tells_time = true;
  }
  if (!client || !tells_time) return std::nullopt;
  work.client_id = *client;
  return work;
}

}  // namespace headroom::facts
