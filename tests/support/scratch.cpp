// SPDX-License-Identifier: Apache-2.0
#include "support/scratch.h"

#include <cstdlib>
#include <stdexcept>

namespace headroom::testing {

Scratch::Scratch() {
  std::string pattern = (std::filesystem::temp_directory_path() / "headroom-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr)
    throw std::runtime_error("no scratch folder: " + pattern);
  path_ = pattern;
}

Scratch::~Scratch() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace headroom::testing
