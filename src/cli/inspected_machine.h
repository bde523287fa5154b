// SPDX-License-Identifier: Apache-2.0
// A machine looked over for a change: what check knows of it, and the files that a fix would edit.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/commands.h"
#include "cli/invoking_user.h"
#include "facts/boot_setup.h"
#include "facts/facts.h"
#include "facts/system_libraries.h"
#include "findings/diagnosis.h"
#include "knowledge/gpu_tables.h"
#include "machine/open_root.h"

namespace headroom::cli {

struct InspectedMachine {
  knowledge::GpuTables tables;
  machine::OpenRoot root;
  InvokingUser invoking_user;
  facts::Facts facts;
  findings::Diagnosis diagnosis;
  facts::BootSetup boot;
  std::vector<facts::ConfigFile> setting_files;
  facts::SystemLibraries libraries;
};

// Reads only. `user` as typed; empty: who asked.
Result<std::unique_ptr<InspectedMachine>> inspect_machine(const std::string& root,
                                                          const std::string& user,
                                                          const Context& context);

}  // namespace headroom::cli
