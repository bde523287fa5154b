// SPDX-License-Identifier: Apache-2.0
#include "run/output_folder.h"

namespace headroom::run {

std::string output_folder(const LoadedJob& loaded, const std::string& given) {
  if (!given.empty() || !loaded.job.output.folder) return given;
  const std::string& folder = *loaded.job.output.folder;
  return folder.starts_with('/') ? folder : loaded.folder + "/" + folder;
}

}  // namespace headroom::run
