// SPDX-License-Identifier: Apache-2.0
// A folder of one's own for one test, gone afterwards.
#pragma once

#include <filesystem>
#include <string>

namespace headroom::testing {

class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string string() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace headroom::testing
