// SPDX-License-Identifier: Apache-2.0
// What a job leaves of the memory that a GPU shares with a desktop or with the whole system, so
// that a lack of memory is an error of the job and not a machine that stands still. An allocator
// asks before it takes more; who starts the job decides how much is left, here.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "facts/gpu.h"
#include "facts/kernel_text.h"
#include "facts/memory_room.h"
#include "facts/occupancy.h"

namespace headroom::facts {

enum class GuardedPool : std::uint8_t {
  vram,  // The card's own memory, or an APU's carve-out: mem_info_vram_*.
  gtt,   // What the driver may give of the system's memory: mem_info_gtt_*.
  ram,   // The system's memory: MemAvailable.
};

struct Guard {
  std::string pci;  // "0000:03:00.0".
  GuardedPool pool = GuardedPool::vram;
  Bytes leave;  // More than 0.

  bool operator==(const Guard&) const = default;
};

// What programs that draw are left, beyond what they hold already: half as much again, but at
// least 256 MiB (the three pictures that a compositor has of a 4K screen are 95 MiB, and a window
// has buffers of its own) and at most 1 GiB.
Bytes desktop_reserve(Bytes drawn);

// What programs hold of the GPU that draw with it and do not compute; needs gpu.holders.
Bytes drawn_with(const Gpu& gpu);

// Empty where nobody else leans on the GPU's memory: a card without a screen; and where its route
// is not known. Of an APU that takes system memory, RAM is left to the system (machine_reserve),
// and to the desktop where it has a screen, which also needs some of GTT. `screens` may be null.
// `asked`: how much of RAM, or of VRAM, instead; also of a card without a screen.
std::vector<Guard> make_guards(const Gpu& gpu, const Meminfo& memory, const Screens* screens,
                               std::optional<Bytes> asked);

// What one variable says: "0000:0b:00.0/ram=2147483648,0000:0b:00.0/gtt=268435456", or of every
// GPU, as its driver counts, "2GiB".
struct GuardText {
  std::vector<Guard> guards;
  std::optional<Bytes> of_each;
};

std::string to_text(const std::vector<Guard>& guards);
// Nothing is left by "", "0" and "off". Fails with invalid, and names the part that makes no sense.
Result<GuardText> parse_guards(std::string_view text);

// One of a GPU's pools as it is now; nothing where a figure is not known.
std::optional<MemoryRoom> make_room(const Guard& guard, const Fact<Bytes>& total,
                                    const Fact<Bytes>& used);
// The same of RAM.
std::optional<MemoryRoom> make_room(const Guard& guard, const Meminfo& memory);

std::string_view to_string(GuardedPool pool);  // "vram".

}  // namespace headroom::facts
