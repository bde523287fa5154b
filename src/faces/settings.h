// SPDX-License-Identifier: Apache-2.0
// What the environment says about the allocators of a program that nobody changes:
//   HEADROOM_ALLOCATOR_BACKEND         "hip", "cuda" or "host"; otherwise what the program loaded
//   HEADROOM_ALLOCATOR_CAPACITY        the most to hold of each GPU, "12 GiB"; otherwise all
//   HEADROOM_ALLOCATOR_VIRTUAL_MEMORY  "as-tested" (the default), "off" or "required"
//   HEADROOM_ALLOCATOR_PLANNING        "background" (the default), "inline" or "off"
//   HEADROOM_ALLOCATOR_SELF_TESTS      a file of kept self-tests; otherwise the user's own one
//   HEADROOM_ALLOCATOR_RECORDINGS      a folder for flight recordings, named PID-gpuN.flight
//   HEADROOM_ALLOCATOR_BUDGETS         a folder of files through which processes share each card
//   HEADROOM_ALLOCATOR_SHARE           what this process can always have of it, "4 GiB"
//   HEADROOM_ALLOCATOR_GUARD           what has to stay for the desktop and the system, "2 GiB" of
//                                      each GPU or as headroom run says it, "off"
//   HEADROOM_ALLOCATOR_HOST            how much of the machine's memory HIP programs may have
//   beyond
//                                      an APU's pool, "16 GiB"; otherwise none
//   HEADROOM_ALLOCATOR_TOTAL           what programs are told that an APU has, as headroom run
//   found
//                                      it: "0000:c4:00.0=64424509440,…"
#pragma once

#include <headroom/allocator.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace headroom::faces {

inline constexpr const char* totals_variable = "HEADROOM_ALLOCATOR_TOTAL";
using Totals = std::map<std::string, std::uint64_t, std::less<>>;  // PCI address → bytes.

struct Settings {
  std::optional<std::uint32_t> backend;  // HEADROOM_BACKEND_…; none: what the program has loaded.
  std::uint64_t capacity_bytes = 0;      // 0: all.
  std::uint32_t virtual_memory = HEADROOM_VIRTUAL_MEMORY_AS_TESTED;
  std::uint32_t planning = HEADROOM_PLANNING_BACKGROUND;
  std::optional<std::string> self_tests;
  std::string recordings;
  std::string budgets;
  std::uint64_t share_bytes = 0;
  std::uint64_t host_bytes = 0;
  Totals totals;      // Empty: what the runtime says.
  std::string guard;  // As headroom_allocator_options has it; empty: nothing.
};

// The value of an environment variable; nothing if it is not set.
using Environment = std::function<std::optional<std::string>(const char* name)>;

// A variable that is set to nothing counts as not set. Fails if one makes no sense.
Result<Settings> parse_settings(const Environment& environment);

// Nothing is told by "" and "off". Fails with invalid, and names the part that makes no sense.
Result<Totals> parse_totals(std::string_view text);

// The environment of this process.
std::optional<std::string> read_variable(const char* name);

// Where GPU `device` of this process is recorded; empty if it is not.
std::string recording_path(const Settings& settings, int device);

// For headroom_allocator_create(): what the settings say for every GPU. `recording` is a path or
// empty. Both must outlive the options, which point into them.
headroom_allocator_options make_options(const Settings& settings, const std::string& recording);

// How the C interface takes a text that may be absent. `text` must outlive the pointer.
const char* text_or_null(const std::string& text);

}  // namespace headroom::faces
