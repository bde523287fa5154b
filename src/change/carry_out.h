// SPDX-License-Identifier: Apache-2.0
// One step, done and proved: the edit or the command itself, then a look at what is there now.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "machine/programs.h"
#include "machine/writable_files.h"
#include "plan/step.h"

namespace headroom::change {

struct Doors {
  machine::WritableFiles& files;
  machine::Programs& programs;
  std::string now;  // "2026-11-21T22:30:11Z".
  // When this machine started, in seconds since 1970, if that was after the change in question
  // began: what was written since is not that change's half-done work. 0: not known, or before.
  std::int64_t booted_s = 0;
};

// What must hold before anything is touched: files are as planning saw them, programs are there.
// With `resuming` a file that is already as it should become is as good.
Status check_ready(const Doors& doors, const plan::Step& step, bool resuming);

// Folders on the way to a new file are made. An Instruction does nothing. Fails where the step
// fails or where what it should have brought is not there; the machine may then be anywhere
// between.
Status carry_out(const Doors& doors, const plan::Step& step);

// The folders on the way to a new file that are not there yet, outermost first.
Result<std::vector<std::string>> missing_folders(const machine::WritableFiles& files,
                                                 const plan::Step& step);

// Runs a command; a status other than 0 is an error that says the last lines of its output.
Status run_command(const Doors& doors, const std::vector<std::string>& argv);

}  // namespace headroom::change
