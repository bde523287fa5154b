// SPDX-License-Identifier: Apache-2.0
// A machine looked over for a change: what check knows of it, and the files that a fix would edit.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/commands.h"
#include "facts/boot_setup.h"
#include "facts/facts.h"
#include "findings/diagnosis.h"
#include "knowledge/gpu_tables.h"
#include "machine/open_root.h"

namespace headroom::cli {

// Whose groups, shell files and home folder are meant: who asked, before sudo.
struct Asker {
  std::string user;
  std::string home;  // Of that machine; empty where it is not known.
};

struct LookedOver {
  knowledge::GpuTables tables;
  machine::OpenRoot root;
  Asker asker;
  facts::Facts facts;
  findings::Diagnosis diagnosis;
  facts::BootSetup boot;
  std::vector<facts::ConfigFile> setting_files;
};

// Reads only. `user` as typed; empty: who asked.
Result<std::unique_ptr<LookedOver>> look_over(const std::string& root, const std::string& user,
                                              const Context& context);

}  // namespace headroom::cli
