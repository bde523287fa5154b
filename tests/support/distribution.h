// SPDX-License-Identifier: Apache-2.0
// Scratch roots that look like distributions: their boot loader's and tools' files, an APU with a
// memory limit, and stand-ins for their programs (tests/distributions).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace headroom::testing {

// Sorted: "debian-12", "fedora-42", …
std::vector<std::string> distribution_names();

// Lays the distribution out in `root`, which is made if it is not there and must be empty; runs the
// stand-in programs that a new system would have run, and boots it once. Fails with the mistake in
// its description.
Status lay_out_distribution(const std::string& name, const std::filesystem::path& root);
// The same; a mistake fails the test.
void make_distribution(const std::string& name, const std::filesystem::path& root);

}  // namespace headroom::testing
