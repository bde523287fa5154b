// SPDX-License-Identifier: Apache-2.0
// What `headroom test` and `headroom try` read of the machine and one of its Pythons before they
// start anything: failures are judged by it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/commands.h"
#include "facts/facts.h"
#include "findings/diagnosis.h"
#include "knowledge/gpu_tables.h"
#include "machine/files.h"
#include "run/command/log_rules.h"
#include "run/proof/step_host.h"

namespace headroom::cli {

struct ProofGround {
  knowledge::GpuTables tables;
  facts::Facts facts;
  findings::Diagnosis diagnosis;
  run::LogRules rules;
  std::optional<machine::KernelMessages> kernel;  // Nothing: they cannot be read here.
  std::shared_ptr<const machine::Files> files;    // Of the machine that the facts are of.
};

// `python` as typed; empty: the one that `headroom check` finds. Fails where the machine cannot be
// looked at; whether there is such a Python is among the facts.
// `root` is for tests: a captured machine in place of this one, except for the Python.
Status read_ground(const std::string& python, const std::string& root, const Context& context,
                   ProofGround& ground);

// Of a Python that was named and is none; `command` is what to type instead.
Error no_python(const std::string& python, const std::string& command);

}  // namespace headroom::cli
