// SPDX-License-Identifier: Apache-2.0
// The machines of tests/machines by name.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/document_fwd.h"

namespace headroom::testing {

std::filesystem::path machines_folder();
// Sorted.
std::vector<std::string> machine_names();
// What the machine's file says; a mistake in it fails the test.
Document read_description(const std::string& name);
// Expands the machine into `folder`, which must exist and be empty; a mistake fails the test.
void expand_named(const std::string& name, const std::filesystem::path& folder);

}  // namespace headroom::testing
