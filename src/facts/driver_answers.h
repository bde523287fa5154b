// SPDX-License-Identifier: Apache-2.0
// What the driver says of a GPU when asked by ioctl, from the text that machine/live_answers.h
// makes of it: the driver's own flag for "this is an APU", its heaps, and two counters of trouble.
#pragma once

#include <cstdint>
#include <map>

#include "base/bytes.h"
#include "facts/text_facts.h"

namespace headroom::facts {

struct DriverAnswers {
  Fact<bool> fusion;  // AMDGPU_IDS_FLAGS_FUSION: integrated; exact, and what ROCm itself goes by.
  Fact<Bytes> vram_total, vram_used, vram_largest;
  Fact<Bytes> gtt_total, gtt_used;
  Fact<std::uint64_t> evictions;  // Buffers moved out of VRAM since the driver loaded.
  Fact<std::uint64_t> vram_lost;  // Resets that lost the contents of VRAM.
};
DriverAnswers parse_driver_answers(const Text& text);

// Lines "gpu_id bytes": what KFD calls free, by gpu_id.
std::map<std::uint64_t, Fact<Bytes>> parse_kfd_free(const Text& text);

// Who may open a device node, from "mode 0660", "uid 0", "gid 104".
struct Ownership {
  Fact<std::uint64_t> mode;  // Permission bits.
  Fact<std::uint64_t> uid, gid;
};
Ownership parse_ownership(const Text& text);

// The name of a group (or of a user) by its number, from /etc/group (/etc/passwd).
Text find_name_of_id(const Text& table, std::uint64_t id);

}  // namespace headroom::facts
