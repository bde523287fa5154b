// SPDX-License-Identifier: Apache-2.0
// The parts that make_scene() is put together from; nobody else needs them.
#pragma once

#include "findings/scene.h"

namespace headroom::findings {

facts::Source source_of(const logs::Observation& seen);

// Joins what two places say of one GPU: the same target, or a name without a target.
void add_gpu(Scene& scene, SceneGpu gpu, const knowledge::GpuTables& tables);

// rocminfo's agents, pasted whole or in part, in their order: the largest pool of a GPU is what
// ROCm offers, that of the CPU is the RAM.
void add_agents(Scene& scene, const logs::Observations& log, const knowledge::GpuTables& tables);

// What commands printed that say nothing by themselves: uname's release, a bare number of bytes.
void add_outputs(Scene& scene, const logs::Observations& log);

// Every setting of a line that shows one; of ollama's start line those it lists.
std::vector<facts::Setting> settings_in(const logs::Observation& seen);

// Measured, then stated, then by whose software speaks in the log. A failure in another vendor's
// words outweighs an AMD chip that is merely there.
facts::Fact<Vendor> infer_vendor(const Scene& scene, const logs::Observations& log,
                                 const facts::Stated& stated);

}  // namespace headroom::findings
