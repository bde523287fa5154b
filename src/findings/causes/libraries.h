// SPDX-License-Identifier: Apache-2.0
// Tells from names of shared libraries which one is missing, whose it is, and which ROCm release it
// belongs to. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "logs/observation.h"

namespace headroom::findings {

// Returns "libamdhip64.so.6" for a line which says that it was not found. Nothing for lines of
// programs that only test whether a library exists, and for bitsandbytes' own libraries.
std::optional<std::string> missing_library(const logs::Observation& seen);

// Whether rocBLAS lists the files of kernels that it has, of any GPU, and there are none: the
// folder was not installed with the library. `seen` is what it says when it cannot read one.
bool has_no_kernels_at_all(const logs::Observation& seen);

// Returns 6 for "libamdhip64.so.6". Nothing for libraries whose number is the same in all releases.
std::optional<std::uint64_t> rocm_major_of_library(std::string_view soname);

// Whether that release of ROCm, of the library's own major one, has given the library up:
// "libmcwamp.so.3" is of ROCm 3, and 3.5 no longer has it.
bool is_gone_in(std::string_view soname, std::string_view rocm);

// Returns when the log was written, as "2024-06", if its lines tell; else empty.
std::string date_of(const logs::Observations& log);
// Whether that major release of ROCm was the newest at that time. False if the time is unknown.
bool was_current(std::uint64_t major, std::string_view date);

bool is_library_of_cuda(std::string_view soname);
bool is_library_of_rocm(std::string_view soname);
// Whether it is a library that only PyTorch's builds for ROCm have.
bool is_of_torch_for_rocm(std::string_view soname);
// The distribution's package that has the library; empty if not known.
std::string_view package_of_library(std::string_view soname);
// Whether it is a module of a well-known machine-learning package; any other may be the user's own.
bool is_known_module(std::string_view module);

}  // namespace headroom::findings
