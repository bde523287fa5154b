// SPDX-License-Identifier: Apache-2.0
// What is known of AMD GPUs apart from any machine: targets, PCI device ids, which software stack
// carries which target, what overrides do, and known-bad combinations. Knowledge is data
// (data/*.toml); this turns it into values and derives the support level from its columns.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "knowledge/advisories.h"
#include "knowledge/card_names.h"
#include "knowledge/knobs.h"
#include "knowledge/origin.h"

namespace headroom::knowledge {

enum class Kind { integrated, discrete, both };
enum class TheRock { none, builds, ready };
enum class TorchWheels { none, legacy, current };
enum class Attention { none, experimental, yes };
enum class Risk { low, medium, dangerous };

// What a reset by the driver is (the asic_reset_method functions of amdgpu). All but mode2 lose
// what is in VRAM; each ends every job on the GPU.
enum class Reset { mode1, mode2, baco_or_mode1, baco_or_legacy };

// How a target can be used with ROCm today; the column "support" of docs/gpus.md.
enum class Support {
  official,     // The current ROCm release lists it.
  community,    // Never listed, but built and released by TheRock.
  override,     // Only by running a near target's code.
  dropped,      // An older ROCm release listed it.
  unsupported,  // None of these.
};

// What HSA_OVERRIDE_GFX_VERSION with one value does to a target.
struct Override {
  Risk risk = Risk::dangerous;
  std::string why;
  Origin origin;
};

struct Target {
  std::string gfx;
  std::string family;
  std::string chip;
  std::string cards;
  std::string names;  // RE2: what people and programs call these cards; may be empty.
  Kind kind = Kind::discrete;
  // Official releases; first absent: none ever; last absent: the current one lists it, or none
  // ever.
  std::optional<std::string> rocm_first, rocm_last;
  bool about_first = false, about_last = false;  // Only about that release.
  TheRock therock = TheRock::none;
  TorchWheels torch = TorchWheels::none;
  std::vector<std::string> without;  // Libraries that TheRock leaves out for it.
  std::string generic;  // "gfx10-3-generic": code for it runs here without an override; or empty.
  int wavefront = 64;
  Attention attention = Attention::none;
  bool large_register_file = false;        // 1.5 times the vector registers of its relatives.
  bool pcie_atomics = false;               // KFD skips it where the slot rejects PCIe atomics …
  std::optional<int> mec_without_atomics;  // … unless the MEC firmware is at least this.
  std::optional<Reset> reset, reset_integrated;  // The latter of integrated chips where it is both.
  std::string note;
  std::map<std::string, Override> overrides;  // By value; "*" is every other one but its own.
  Origin origin;
};

struct Device {
  std::string gfx;
  std::string name;
  std::optional<bool> integrated;  // Only where the target is both.
  std::map<std::uint32_t, std::string>
      revisions;  // PCI revision → name, for cards that share an id.
  Origin origin;
};

// The stack that still carries a dropped target.
struct Stack {
  std::string rocm, torch, index, python, also, libraries, evidence;
  Origin origin;
};

struct GpuTables {
  std::string current_rocm;
  std::map<std::string, std::string> sources;  // The letters that rows name as their source.
  std::map<std::string, Target> targets;       // By gfx name.
  CardNames card_names;                        // Those of the targets.
  std::map<std::uint32_t, Device> devices;     // By PCI device id of vendor 0x1002.
  std::map<std::string, Stack> stacks;         // By gfx name.
  // Wheel indexes, each with a slash at its end: PyTorch's, below which Stack::index is, and AMD's,
  // whose wheels take their target as "torch[device-gfx1151]".
  std::string torch_index, device_index;
  Advisories advisories;
  KnobTable knobs;  // What people set for a GPU's sake.

  const Target* target(std::string_view gfx) const;
  const Device* device(std::uint32_t id) const;
  const Stack* stack(std::string_view gfx) const;
};

struct TableTexts {
  std::string_view gpus, devices, stacks, overrides, advisories;
};

// The embedded tables. Fails only if data/*.toml is wrong, which a test excludes.
Result<GpuTables> load_gpu_tables();
// The same from any text; each fails with the table's line.
Result<GpuTables> parse_gpu_tables(const TableTexts& texts);

// What a row's source stands for, one entry each, its letters written out.
std::vector<std::string> full_sources(const GpuTables& tables, const Origin& origin);

Support support_of(const Target& target);
std::string_view to_string(Support support);

// What running `target` with HSA_OVERRIDE_GFX_VERSION=`value` does; nothing where the value names
// the target itself, which changes nothing. A value that no row names is dangerous.
std::optional<Override> judge_override(const Target& target, std::string_view value);
std::string_view to_string(Risk risk);
// The target whose code an override makes run: "10.3.0" → gfx1030. Nothing for what is no version.
std::optional<std::string> target_of_override(std::string_view value);

// KFD's gfx_target_version → target name: decimal major·10000 + minor·100 + stepping, minor and
// stepping printed as hexadecimal digits (90012 → gfx90c). Nothing for 0 and for what is no such
// number.
std::optional<std::string> gfx_name(std::uint64_t gfx_target_version);

}  // namespace headroom::knowledge
