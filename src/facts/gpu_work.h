// SPDX-License-Identifier: Apache-2.0
// How long a process has kept the engines of a GPU busy, from the fdinfo of its DRM clients: the
// keys "drm-engine-NAME: N ns" of the kernel's Documentation/gpu/drm-usage-stats.rst. Compute jobs
// on KFD's queues do not show there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headroom::facts {

struct ClientWork {
  std::string pdev;  // "0000:03:00.0".
  std::uint64_t client_id = 0;
  std::uint64_t engines_ns = 0;  // Of all engines added up; it only grows.
};

// Nothing for what is no DRM client, and for a layout that does not tell the time.
std::optional<ClientWork> parse_client_work(std::string_view fdinfo);

}  // namespace headroom::facts
