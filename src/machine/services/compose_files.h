// SPDX-License-Identifier: Apache-2.0
// The files that compose reads for a service: the one that is named, and those that belong to it.
#pragma once

#include <string>
#include <vector>

#include "machine/services/container_state.h"

namespace headroom::machine {

std::string folder_of(const std::string& file);

// Whether the container says that it was made of this file, among others perhaps.
bool is_made_of(const ContainerState& container, const std::string& file);

// The files that the container was made of, in their order, if `file` is one of them and all are
// still there; else files_beside().
std::vector<std::string> files_of(const ContainerState& container, const std::string& file);

// The file, and compose.override.yaml and its kin, which compose takes beside a file of one of its
// own names when it is given none (the Compose Specification, "Merge").
std::vector<std::string> files_beside(const std::string& file);

}  // namespace headroom::machine
