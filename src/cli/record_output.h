// SPDX-License-Identifier: Apache-2.0
// Where capture and accept write their record: a new folder, or a new archive by its name.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "machine/tree_writer.h"

namespace headroom::cli {

// It ends in .tar.zst.
bool is_archive_name(const std::string& output);

// Whether the output may be written, as far as its name tells and what has it already. `command`:
// "capture", for what to type instead.
Status check_record_name(const std::string& output, std::string_view command);

// Fails with the folder to make where the one above it is missing.
Result<std::unique_ptr<machine::TreeWriter>> make_record_writer(const std::string& output);

}  // namespace headroom::cli
