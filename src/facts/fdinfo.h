// SPDX-License-Identifier: Apache-2.0
// /proc/PID/fdinfo/N of a DRM device, in all layouts of amdgpu (amdgpu_fdinfo.c; the keys are
// described in the kernel's Documentation/gpu/drm-usage-stats.rst).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace headroom::facts {

// One DRM client. The same one is seen through every duplicate of its descriptor, so whoever adds
// up counts each (pdev, client_id) once.
struct DrmClient {
  std::string driver;
  std::string pdev;  // "0000:03:00.0".
  std::uint64_t client_id = 0;
  std::optional<std::uint64_t> pasid;
  // Resident memory that is not shared with another client; nothing where the layout does not say.
  std::optional<Bytes> vram;
  std::optional<Bytes> gtt;
};

// Nothing for a descriptor that is no DRM client.
std::optional<DrmClient> parse_fdinfo(std::string_view text);

}  // namespace headroom::facts
