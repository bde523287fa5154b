// SPDX-License-Identifier: Apache-2.0
// The parts of make_scene(); nothing else uses them.
#pragma once

#include <memory>
#include <vector>

#include "findings/scene.h"

namespace headroom::findings {

facts::Source source_of(const logs::Observation& seen);

// Adds a GPU, or merges it with one of the scene that is the same: they have the same target or,
// without a target, the same name.
void add_gpu(Scene& scene, SceneGpu gpu, const knowledge::GpuTables& tables);

// Adds rocminfo's agents, pasted whole or in part, in their order. The largest pool of a GPU is
// what ROCm offers; the CPU's largest is the RAM.
void add_agents(Scene& scene, const logs::Observations& log, const knowledge::GpuTables& tables);

// Adds output of commands that has a meaning only together with the command: uname's release, a
// bare number of bytes.
void add_outputs(Scene& scene, const logs::Observations& log);

// To be called first after the measured facts. Where the log prints other kernels than the measured
// machine runs, and never that one, the first of them is the scene's, and the machine's is
// kernel_now. What the drivers of today were told and offer, options and pools, is then left out.
void date_kernel(Scene& scene, const logs::Observations& log);

// Reads the settings that lines show. Keeps the patterns that it compiled.
class SettingReader {
 public:
  SettingReader();
  ~SettingReader();
  SettingReader(const SettingReader&) = delete;
  SettingReader& operator=(const SettingReader&) = delete;

  // Returns every setting of a line: there may be several, as in the options of docker run and in
  // ollama's start line.
  std::vector<facts::Setting> read(const logs::Observation& seen);

 private:
  struct Patterns;
  std::unique_ptr<Patterns> patterns_;
};

// Infers the vendor from what was measured, else from what was stated, else from whose software
// writes in the log. A failure in another vendor's words outweighs an AMD chip that is merely
// present.
facts::Fact<Vendor> infer_vendor(const Scene& scene, const logs::Observations& log,
                                 const facts::Stated& stated);

}  // namespace headroom::findings
