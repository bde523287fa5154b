// SPDX-License-Identifier: Apache-2.0
// The scene: what is known of the machine on which a log was written. Measured facts win over what
// the log tells, that wins over what a person stated; each says where it is from. Most of it is
// missing most of the time.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "facts/facts.h"
#include "facts/stated.h"
#include "knowledge/gpu_tables.h"
#include "logs/observation.h"

namespace headroom::findings {

// Whose GPU the job was to run on.
enum class Vendor { amd, nvidia, intel, apple, none };
std::string_view to_string(Vendor vendor);

struct SceneGpu {
  std::string gfx;                 // "gfx1100"; empty: unknown.
  std::string name;                // "Radeon RX 7900 XT"; may be empty.
  std::optional<bool> integrated;  // Nothing: unknown.
  facts::Fact<Bytes> vram;         // An APU's: its carve-out.
  facts::Fact<Bytes> pool;         // What ROCm offers.
  facts::Source source;
};

struct Scene {
  facts::Fact<Vendor> vendor;
  std::vector<SceneGpu> gpus;  // AMD's, in the order told; each target and name once.
  facts::Fact<Bytes> vram;     // Of the GPU that the job uses.
  facts::Fact<Bytes> ram;
  facts::Text rocm;        // Of the system or the container: "7.0", "6.2.4".
  facts::Text framework;   // As stated: "torch 2.8.0+rocm7.0".
  facts::Text torch;       // "2.8.0"
  facts::Text torch_rocm;  // "7.0": what the wheel was built for.
  facts::Text python;      // "3.12.3"
  facts::Text cpu;
  facts::Text cmdline;  // Of the kernel: "BOOT_IMAGE=… iommu=pt".
  // Kernel, distribution, container engine and module options; the rest is missing unless this is
  // the machine itself.
  facts::MachineFacts machine;
  std::vector<facts::Setting> settings;  // Environment variables.
  // The machine itself was looked at (--here, --root).
  const facts::Facts* measured = nullptr;

  // Vendor known, and not AMD's.
  bool is_foreign() const { return vendor && *vendor != Vendor::amd; }
  // The last setting of a variable; nullptr if none is known.
  const facts::Setting* setting(std::string_view name) const;
  // A GPU of this target, or any that is (not) integrated; nullptr if none is known.
  const SceneGpu* gpu(std::string_view gfx) const;
  const SceneGpu* integrated_gpu() const;
  const SceneGpu* discrete_gpu() const;
  // The only target of a GPU that the job could use: the discrete ones', else the integrated
  // ones'. Empty if unknown or if there are several.
  std::string gfx() const;
  bool mentions_gfx(std::string_view gfx) const { return gpu(gfx) != nullptr; }
};

// `measured` may be nullptr; it must outlive the scene otherwise.
Scene make_scene(const logs::Observations& log, const facts::Stated& stated,
                 const facts::Facts* measured, const knowledge::GpuTables& tables);

// "2 x RX 7900 XT", "Radeon 780M iGPU", "Ryzen 5650U integrated graphics" → targets, from the
// tables' names. Empty if no name is known.
std::vector<SceneGpu> gpus_of_text(std::string_view text, const knowledge::GpuTables& tables);

}  // namespace headroom::findings
