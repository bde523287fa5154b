// SPDX-License-Identifier: Apache-2.0
// The parts of libdrm that GPU programs look for under other names than the distribution gives
// them: the library without its version, and AMD's table of card names under /opt/amdgpu.
#pragma once

#include <string>
#include <vector>

#include "facts/fact.h"

namespace headroom::facts {

// The folder of one architecture's libraries that has libdrm_amdgpu.so.1.
struct LibraryFolder {
  std::string path;          // "/usr/lib/x86_64-linux-gnu"
  std::string in_path;       // The folder that the loader also searches and that is the
                             // administrator's: "/usr/local/lib/x86_64-linux-gnu".
  bool unversioned = false;  // libdrm_amdgpu.so is there, or in `in_path`.
};

struct SystemLibraries {
  Fact<LibraryFolder> libdrm_amdgpu;
  Fact<std::string> ids;  // The distribution's amdgpu.ids; not_present without.
  // What stands at /opt/amdgpu/share/libdrm/amdgpu.ids, where PyTorch's wheels look.
  bool ids_in_opt = false;
};

}  // namespace headroom::facts
