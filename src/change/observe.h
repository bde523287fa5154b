// SPDX-License-Identifier: Apache-2.0
// What is at a path right now, held against what the journal says was or should be there.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "machine/writable_files.h"
#include "plan/record.h"

namespace headroom::change {

// One path at one moment. Two are equal if undo could not tell them apart.
struct Sight {
  std::optional<FileEntry> entry;  // nullopt: nothing is there.
  std::string checksum;            // Of a file.

  // Kind, bytes or target, mode, owner and labels.
  bool operator==(const Sight& other) const;
};

Result<Sight> observe(const machine::WritableFiles& files, const std::string& path);
Sight sight_before(const plan::Touched& touched);
Sight sight_after(const plan::Touched& touched);  // Requires: touched.done.

// A boot loader's entry: kernel packages make and remove them with their kernels.
bool is_loader_entry(std::string_view path);

// The paths that a step may touch, as they are now: links of files followed, patterns expanded.
struct StepPaths {
  std::vector<std::string> authored;   // People edit these too.
  std::vector<std::string> generated;  // A command makes these from others.
};
Result<StepPaths> paths_of(const machine::WritableFiles& files, const plan::Step& step);

// steps, then on_confirm: what Record::steps_done and Touched::step count. Requires: in range.
const plan::Step& step_at(const plan::Change& change, std::size_t index);
std::size_t step_count(const plan::Change& change);

}  // namespace headroom::change
