// SPDX-License-Identifier: Apache-2.0
// Files of debugfs that do something when they are merely read, or that exist only to do something:
// reset a GPU, push everything out of VRAM, run tests on it. Files opens none of them, whoever asks
// and on whatever root, so that no reader can do harm by listing a folder and reading all of it.
#pragma once

#include <array>
#include <string_view>

namespace headroom::machine {

// By their own names, wherever they are: drivers/gpu/drm/amd/amdgpu/amdgpu_debugfs.c and
// amdgpu_fence.c, amd/amdkfd/kfd_debugfs.c, radeon/radeon_fence.c, ttm/ttm_tt.c and ttm_pool.c.
constexpr std::array<std::string_view, 11> files_that_act{
    "amdgpu_gpu_recover",  // Resets the GPU.
    "amdgpu_evict_vram",   // Moves every buffer out of VRAM,
    "amdgpu_evict_gtt",    // or out of GTT.
    "amdgpu_test_ib",      // Parks the scheduler and runs test commands.
    "amdgpu_benchmark",    // Copies until it has a figure.
    "amdgpu_preempt_ib",   // Interrupts what runs on a ring.
    "amdgpu_force_sclk",   // Sets a clock.
    "hang_hws",            // Hangs the compute scheduler.
    "radeon_gpu_reset",    // The old driver's reset.
    "tt_shrink",           // TTM: swaps out buffers.
    "page_pool_shrink",    // TTM: gives its cached pages back.
};

// Whether the last name of the path is one of them.
bool acts_when_read(std::string_view path);

}  // namespace headroom::machine
