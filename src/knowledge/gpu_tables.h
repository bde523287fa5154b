// SPDX-License-Identifier: Apache-2.0
// What is known of AMD GPUs apart from any machine: targets, PCI device ids, and which software
// stack carries which target. Knowledge is data (data/gpus.toml, devices.toml, stacks.toml); this
// turns it into values and derives the support level from its columns.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "knowledge/knobs.h"

namespace headroom::knowledge {

enum class Kind { integrated, discrete, both };
enum class TheRock { none, builds, ready };
enum class TorchWheels { none, legacy, current };
enum class Attention { none, experimental, yes };
enum class Risk { low, medium, dangerous };

// contracts.md, `support`: how a target can be used with ROCm today.
enum class Support {
  official,     // The current ROCm release lists it.
  community,    // Never listed, but built and released by TheRock.
  override,     // Only by running a near target's code.
  dropped,      // An older ROCm release listed it.
  unsupported,  // None of these.
};

struct Target {
  std::string gfx;
  std::string family;
  std::string chip;
  std::string cards;
  Kind kind = Kind::discrete;
  std::optional<std::string> rocm_first;  // Official releases; absent: none ever.
  std::optional<std::string>
      rocm_last;  // Absent if the current release still lists it, or none ever.
  TheRock therock = TheRock::none;
  TorchWheels torch = TorchWheels::none;
  int wavefront = 64;
  Attention attention = Attention::none;
  bool pcie_atomics =
      false;  // KFD skips it where the slot rejects PCIe atomics (old MEC firmware).
  std::map<std::string, Risk> overrides;  // HSA_OVERRIDE_GFX_VERSION values known for it.
};

struct Device {
  std::string gfx;
  std::string name;
  std::optional<bool> integrated;  // Only where the target is both.
  std::map<std::uint32_t, std::string>
      revisions;  // PCI revision → name, for cards that share an id.
};

// The stack that still carries a dropped target.
struct Stack {
  std::string rocm, torch, index, python, also, evidence;
};

struct GpuTables {
  std::string current_rocm;
  std::map<std::string, Target> targets;    // By gfx name.
  std::map<std::uint32_t, Device> devices;  // By PCI device id of vendor 0x1002.
  std::map<std::string, Stack> stacks;      // By gfx name.
  KnobTable knobs;                          // What people set for a GPU's sake.

  const Target* target(std::string_view gfx) const;
  const Device* device(std::uint32_t id) const;
  const Stack* stack(std::string_view gfx) const;
};

// The embedded tables. Fails only if data/*.toml is wrong, which a test excludes.
Result<GpuTables> load_gpu_tables();
// The same from any text; each fails with the table's line.
Result<GpuTables> parse_gpu_tables(std::string_view gpus, std::string_view devices,
                                   std::string_view stacks);

Support support_of(const Target& target);
std::string_view to_string(Support support);

// How dangerous running `target` with HSA_OVERRIDE_GFX_VERSION=`value` is; nothing where the value
// names the target itself, which changes nothing.
std::optional<Risk> override_risk(const Target& target, std::string_view value);

// KFD's gfx_target_version → target name: decimal major·10000 + minor·100 + stepping, minor and
// stepping printed as hexadecimal digits (90012 → gfx90c). Nothing for 0 and for what is no such
// number.
std::optional<std::string> gfx_name(std::uint64_t gfx_target_version);

}  // namespace headroom::knowledge
