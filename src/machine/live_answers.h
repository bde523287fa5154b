// SPDX-License-Identifier: Apache-2.0
// What only the running kernel can say and no file holds: ioctls, who owns a device node. Each
// answer is a short text, one "key value" a line. A captured machine keeps it as a file below
// /.headroom, so that the same question asked of the capture gets the same answer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "machine/files.h"

namespace headroom::machine {

// AMDGPU_INFO of /dev/dri/renderDN (include/uapi/drm/amdgpu_drm.h): ids_flags, the three heaps, and
// the counters of evictions and of lost VRAM. Opens the render node, which wakes a sleeping GPU:
// ask only for one that is awake. Fails with no_permission, not_found or unsupported.
Result<std::string> read_amdgpu_info(const Files& files, std::uint64_t render_minor);

// AMDKFD_IOC_AVAILABLE_MEMORY of /dev/kfd (Linux 5.19 and later) for each gpu_id: a line "ID BYTES"
// each. GPUs that KFD refuses are left out. Opening /dev/kfd makes this process a KFD process for
// as long as it takes, and nothing else.
Result<std::string> read_kfd_free(const Files& files, const std::vector<std::uint64_t>& gpu_ids);

// "mode 0660", "uid 0", "gid 104" of a path; links are followed.
Result<std::string> read_ownership(const Files& files, const std::string& path);

}  // namespace headroom::machine
