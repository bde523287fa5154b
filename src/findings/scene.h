// SPDX-License-Identifier: Apache-2.0
// The scene is what is known about the machine on which a log was written. Measured facts win over
// what the log tells, and that wins over what a person stated; each fact says where it is from.
// Most of it is usually missing. The kernel is measured by a log that prints it, and as that was
// when the job failed, it wins: the machine may have been updated since.
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

// The maker of the GPU that the job was meant for.
enum class Vendor { amd, nvidia, intel, apple, none };
std::string_view to_string(Vendor vendor);

struct SceneGpu {
  std::string gfx;                 // "gfx1100"; empty if unknown.
  std::string name;                // "Radeon RX 7900 XT"; may be empty.
  std::optional<bool> integrated;  // Nothing if unknown.
  facts::Fact<Bytes> vram;         // For an APU, its carve-out.
  facts::Fact<Bytes> pool;         // The memory that ROCm offers.
  facts::Source source;
};

struct Scene {
  facts::Fact<Vendor> vendor;
  std::vector<SceneGpu> gpus;  // AMD's, in the order of mention, without repetitions.
  facts::Fact<Bytes> vram;     // The memory of the GPU that the job uses.
  facts::Fact<Bytes> ram;
  facts::Text rocm;        // On the system or in the container: "7.0", "6.2.4".
  facts::Text framework;   // As the person stated it: "torch 2.8.0+rocm7.0".
  facts::Text torch;       // "2.8.0"
  facts::Text torch_rocm;  // "7.0": what the wheel was built for.
  facts::Text python;      // "3.12.3"
  facts::Text cpu;
  facts::Text cmdline;  // The kernel's: "BOOT_IMAGE=… iommu=pt".
  // Kernel, distribution, container engine and module options. The rest is missing unless the
  // machine itself was read.
  facts::MachineFacts machine;
  // The machine's kernel today, if the log was written under another one.
  facts::Text kernel_now;
  std::vector<facts::Setting> settings;  // Environment variables.
  // The facts of the machine itself (--here, --root); nullptr without them.
  const facts::Facts* measured = nullptr;

  // Whether the vendor is known and is not AMD.
  bool is_foreign() const { return vendor && *vendor != Vendor::amd; }
  // The last known setting of a variable; nullptr if there is none.
  const facts::Setting* setting(std::string_view name) const;
  // A GPU of this target, or any that is (not) integrated; nullptr if none is known.
  const SceneGpu* gpu(std::string_view gfx) const;
  const SceneGpu* integrated_gpu() const;
  const SceneGpu* discrete_gpu() const;
  // The target that all discrete GPUs have or, if there are none, all integrated ones. Empty if it
  // is unknown or if there are several.
  std::string gfx() const;
  bool mentions_gfx(std::string_view gfx) const { return gpu(gfx) != nullptr; }
};

// `measured` may be nullptr; it must outlive the scene otherwise.
Scene make_scene(const logs::Observations& log, const facts::Stated& stated,
                 const facts::Facts* measured, const knowledge::GpuTables& tables);

// Finds GPUs by the tables' names in text such as "2 x RX 7900 XT", "Radeon 780M iGPU" or "Ryzen
// 5650U integrated graphics". Empty if no name is known.
std::vector<SceneGpu> gpus_of_text(std::string_view text, const knowledge::GpuTables& tables);

}  // namespace headroom::findings
