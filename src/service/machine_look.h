// SPDX-License-Identifier: Apache-2.0
// The machine that a deployment is judged on: what check knows of it, and the answers of the gate.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "deploy/gate.h"
#include "deploy/spec.h"
#include "facts/facts.h"
#include "findings/diagnosis.h"
#include "knowledge/gpu_tables.h"
#include "machine/open_root.h"
#include "machine/services/service.h"
#include "plan/change.h"
#include "probe/read_shell.h"

namespace headroom::service {

struct MachineLook {
  knowledge::GpuTables tables;
  machine::OpenRoot root;
  facts::Facts facts;
  findings::Diagnosis diagnosis;
};

// Reads only. `root` as in `headroom check --root`.
Result<std::unique_ptr<MachineLook>> look_at_machine(const std::string& root,
                                                     const probe::Surroundings& surroundings);

// What the gate is asked about besides the machine.
struct GateQuestion {
  const deploy::ServiceSpec& spec;
  const std::string& folder;  // Of SERVICE.toml.
  const std::string& state;   // Where copies and records go.
  const plan::Change& change;
  machine::Service* service = nullptr;         // As it runs now; null: it is not of this machine.
  std::optional<Bytes> predicted_device = {};  // See predict_device().
};

// The GPU memory of the job that expect.job names; nothing where none is named. Fails with what is
// wrong with its file.
Result<std::optional<Bytes>> predict_device(const deploy::ServiceSpec& spec,
                                            const std::string& folder);

Result<deploy::Gate> judge_machine(const MachineLook& machine, const GateQuestion& question);

}  // namespace headroom::service
