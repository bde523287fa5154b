// SPDX-License-Identifier: Apache-2.0
#include "machine/services/compose_files.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "machine/services/paths.h"

namespace headroom::machine {
namespace {

bool is_there(const std::string& file) {
  return ::access(file.c_str(), F_OK) == 0;
}

std::string real_or_same(const std::string& path) {
  return real_path(path).value_or(path);
}

std::vector<std::string> named_files(const ContainerState& container) {
  std::vector<std::string> files;
  for (const std::string_view name : split(container.files, ',')) {
    if (name.empty()) continue;
    files.push_back(name.starts_with('/') ? std::string(name)
                                          : container.folder + "/" + std::string(name));
  }
  return files;
}

}  // namespace

std::string folder_of(const std::string& file) {
  const std::size_t slash = file.rfind('/');
  return slash == 0 ? "/" : file.substr(0, slash);
}

bool is_made_of(const ContainerState& container, const std::string& file) {
  const auto files = named_files(container);
  return std::any_of(files.begin(), files.end(), [&file](const std::string& one) {
    return real_or_same(one) == real_or_same(file);
  });
}

std::vector<std::string> files_of(const ContainerState& container, const std::string& file) {
  const auto files = named_files(container);
  const bool is_whole = std::all_of(files.begin(), files.end(), is_there);
  return is_whole && is_made_of(container, file) ? files : files_beside(file);
}

std::vector<std::string> files_beside(const std::string& file) {
  constexpr std::array<std::string_view, 2> stems{"compose", "docker-compose"};
  constexpr std::array<std::string_view, 2> endings{".yml", ".yaml"};
  std::vector<std::string> files{file};
  const std::string folder = folder_of(file), name = file.substr(file.rfind('/') + 1);
  for (const std::string_view stem : stems) {
    for (const std::string_view ending : endings) {
      if (name != std::string(stem) + std::string(ending)) continue;
      for (const std::string_view other : endings) {
        const std::string beside =
            folder + "/" + std::string(stem) + ".override" + std::string(other);
        if (files.size() == 1 && is_there(beside)) files.push_back(beside);
      }
    }
  }
  return files;
}

}  // namespace headroom::machine
