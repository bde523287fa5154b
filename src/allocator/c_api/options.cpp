// SPDX-License-Identifier: Apache-2.0
#include "allocator/c_api/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace headroom::allocator::c_api {
namespace {

// The size of the first version's struct; no caller was compiled with a smaller one.
constexpr std::size_t least_size = 88;
static_assert(offsetof(headroom_allocator_options, guard) == least_size);

Status check_choice(std::string_view name, std::uint32_t value, std::uint32_t last) {
  if (value <= last) return Done{};
  return Error{Errc::invalid, fmt::format("expected {} from 0 to {}, found {}", name, last, value),
               "begin with HEADROOM_ALLOCATOR_OPTIONS_INIT"};
}

// Members that this library does not know must have their defaults.
Status check_tail(const headroom_allocator_options* options) {
  if (options->size <= sizeof(headroom_allocator_options)) return Done{};
  const auto* bytes = reinterpret_cast<const unsigned char*>(options);
  const bool is_zero = std::all_of(bytes + sizeof(headroom_allocator_options),
                                   bytes + options->size, [](unsigned char b) { return b == 0; });
  if (is_zero) return Done{};
  return Error{Errc::unsupported,
               fmt::format("expected options of {} bytes, found {} with members set that this "
                           "library does not know",
                           sizeof(headroom_allocator_options), options->size),
               "use a library as new as the header, or leave these members alone"};
}

Status check_values(const headroom_allocator_options& options) {
  HEADROOM_CHECK(check_choice("backend", options.backend, HEADROOM_BACKEND_SIMULATED));
  HEADROOM_CHECK(
      check_choice("virtual_memory", options.virtual_memory, HEADROOM_VIRTUAL_MEMORY_REQUIRED));
  HEADROOM_CHECK(check_choice("planning", options.planning, HEADROOM_PLANNING_OFF));
  const bool is_gpu =
      options.backend == HEADROOM_BACKEND_HIP || options.backend == HEADROOM_BACKEND_CUDA;
  if (!is_gpu && options.capacity_bytes == 0)
    return Error{Errc::invalid, "expected a capacity, found 0, which only a GPU has an answer for",
                 "set capacity_bytes"};
  if (options.device < 0)
    return Error{Errc::invalid, fmt::format("expected a GPU's number, found {}", options.device),
                 "rocminfo or nvidia-smi list them"};
  return Done{};
}

}  // namespace

Result<headroom_allocator_options> read_options(const headroom_allocator_options* options) {
  if (options == nullptr)
    return Error{Errc::invalid, "expected options, found a null pointer",
                 "begin with HEADROOM_ALLOCATOR_OPTIONS_INIT"};
  // A larger size is certainly a mistake; most likely the member was left unset.
  constexpr std::size_t most_size = 65536;
  if (options->size < least_size || options->size > most_size)
    return Error{Errc::invalid,
                 fmt::format("expected the size of headroom_allocator_options, {} or more, in its "
                             "first member, found {}",
                             least_size, options->size),
                 "begin with HEADROOM_ALLOCATOR_OPTIONS_INIT"};
  HEADROOM_CHECK(check_tail(options));
  headroom_allocator_options known = HEADROOM_ALLOCATOR_OPTIONS_INIT;
  std::memcpy(&known, options, std::min(options->size, sizeof known));
  known.size = sizeof known;
  HEADROOM_CHECK(check_values(known));
  return known;
}

}  // namespace headroom::allocator::c_api
