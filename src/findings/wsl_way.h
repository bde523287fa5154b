// SPDX-License-Identifier: Apache-2.0
// What is known of the software by which jobs reach the GPU in WSL.
#pragma once

#include "facts/facts.h"

namespace headroom::findings {

// Whether anything shows that AMD's software or hardware is meant: Windows's display driver of AMD,
// an installed ROCm, or a PyTorch for ROCm. WSL serves other makers' GPUs by the same device.
bool uses_amd(const facts::Facts& facts);

// The runtime that jobs load: the one that the installed torch for ROCm brings, else the system's.
const facts::HsaRuntime& runtime_of_jobs(const facts::Facts& facts);
// Its release of ROCm.
const facts::Text& rocm_of_jobs(const facts::Facts& facts);

// Whether that runtime goes by librocdxg.so.
bool by_rocdxg(const facts::Facts& facts);
// Whether it does so only if HSA_ENABLE_DXG_DETECTION is 1, as before ROCm 7.13 (ROCm/librocdxg
// issue 34). False if its release is not known.
bool needs_dxg_detection(const facts::Facts& facts);
bool dxg_detection_is_on(const facts::Facts& facts);

// Whether everything that jobs need to reach the GPU is there, as far as files tell.
bool way_is_whole(const facts::Facts& facts);

}  // namespace headroom::findings
