// SPDX-License-Identifier: Apache-2.0
// The files beside a compose file that its services build on.
#pragma once

#include <string>
#include <vector>

#include "deploy/service_file.h"

namespace headroom::service {

// Builds services on the bases that they extend in other files. What cannot be read stays in
// `elsewhere`, with the reason. Paths are named from the folder of the file that names them (the
// Compose Specification), and come out as somebody would type them who typed `file`.
void build_on_files(const std::string& file, std::vector<deploy::DescribedService>& services);

}  // namespace headroom::service
