// SPDX-License-Identifier: Apache-2.0
// What the names of shared libraries tell: which one is missing, whose it is, and which ROCm
// release it belongs to. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "logs/observation.h"

namespace headroom::findings {

// "libamdhip64.so.6" of a line that says that it was not found; nothing for lines by programs that
// only try whether it is there, and for bitsandbytes' own.
std::optional<std::string> missing_library(const logs::Observation& seen);

// 6 of "libamdhip64.so.6". Nothing for libraries whose number stays the same over releases.
std::optional<std::uint64_t> rocm_major_of_library(std::string_view soname);

// When the log was written, "2024-06", as far as its lines say; else empty.
std::string date_of(const logs::Observations& log);
// That major release of ROCm was the newest one at that time. False if the time is unknown.
bool was_current(std::uint64_t major, std::string_view date);

bool is_library_of_cuda(std::string_view soname);
bool is_library_of_rocm(std::string_view soname);
// PyTorch's own, which its other builds do not have.
bool is_of_torch_for_rocm(std::string_view soname);
// The distribution's package that brings a library; empty: not known.
std::string_view package_of_library(std::string_view soname);
// A module that programs of this field install; anything else may be a module of the user's own.
bool is_known_module(std::string_view module);

}  // namespace headroom::findings
