// SPDX-License-Identifier: Apache-2.0
// Looks at a machine again and again, for `headroom top` and `headroom serve`.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "cli/commands.h"
#include "knowledge/gpu_tables.h"
#include "live/engine_times.h"
#include "live/moment.h"
#include "machine/open_root.h"
#include "probe/read_shell.h"

namespace headroom::cli {

// Reads only, and wakes no GPU. One thread at a time.
class MachineWatch {
 public:
  // `root` is as in `headroom check --root`.
  static Result<std::unique_ptr<MachineWatch>> open(const std::string& root,
                                                    const Context& context);
  // Fails where the machine cannot be looked at. A history or a record that cannot be read is left
  // out: check and deploy say what is wrong with it.
  Result<live::Moment> look();

 private:
  MachineWatch(knowledge::GpuTables tables, machine::OpenRoot root, std::string name)
      : tables_(std::move(tables)), root_(std::move(root)), name_(std::move(name)) {}
  void add_engines(live::Moment& moment);
  void add_past(live::Moment& moment) const;

  knowledge::GpuTables tables_;
  machine::OpenRoot root_;
  std::string name_;  // Of the root, as typed.
  probe::Surroundings surroundings_;
  std::string history_, deployments_;  // Empty: none, as of a captured machine.
  live::EngineTimes times_;
};

}  // namespace headroom::cli
