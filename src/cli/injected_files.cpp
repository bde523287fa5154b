// SPDX-License-Identifier: Apache-2.0
#include "cli/injected_files.h"

#include <fmt/format.h>

#include <string>

#include "machine/program.h"
#include "machine/services/paths.h"

namespace headroom::cli {
namespace {

Result<std::string> find(const std::string& program_folder, const std::string& relative,
                         const std::string& option = "--allocator") {
  auto found = machine::real_path(program_folder + "/" + relative);
  if (found) return found;
  return Error{
      Errc::not_found,
      fmt::format("{}: expected {}/{}, found nothing there", option, program_folder, relative),
      fmt::format("./dev install, which installs it{}; without {} the command runs unchanged",
                  option == "--ranks" ? ", or the package libheadroom-averager1" : "", option)};
}

}  // namespace

Result<run::InjectedFiles> find_injected_files() {
  HEADROOM_TRY(const std::string folder, machine::program_folder());
  run::InjectedFiles files;
  HEADROOM_TRY(files.torch_library,
               find(folder, HEADROOM_LIBRARIES_FROM_PROGRAMS "/libheadroom_torch.so"));
  HEADROOM_TRY(files.onnx_library,
               find(folder, HEADROOM_LIBRARIES_FROM_PROGRAMS "/libheadroom_onnx.so"));
  HEADROOM_TRY(files.hip_library,
               find(folder, HEADROOM_LIBRARIES_FROM_PROGRAMS "/libheadroom_hip.so"));
  HEADROOM_TRY(files.preload_library,
               find(folder, HEADROOM_LIBRARIES_FROM_PROGRAMS "/libheadroom_preload.so"));
  HEADROOM_TRY(files.python_site,
               find(folder, HEADROOM_DATA_FROM_PROGRAMS "/headroom/python/site"));
  return files;
}

Result<run::AveragerFiles> find_averager_files() {
  HEADROOM_TRY(const std::string folder, machine::program_folder());
  run::AveragerFiles files;
  HEADROOM_TRY(
      files.library,
      find(folder, HEADROOM_LIBRARIES_FROM_PROGRAMS "/libheadroom_averager.so.1", "--ranks"));
  HEADROOM_TRY(files.python_site,
               find(folder, HEADROOM_DATA_FROM_PROGRAMS "/headroom/python/site", "--ranks"));
  return files;
}

Result<std::string> find_steps_program() {
  constexpr const char* relative = HEADROOM_DATA_FROM_PROGRAMS "/headroom/python/headroom_steps";
  HEADROOM_TRY(const std::string folder, machine::program_folder());
  auto found = machine::real_path(folder + "/" + relative);
  if (found) return found;
  return Error{Errc::not_found,
               fmt::format("expected {}/{}, found nothing there", folder, relative),
               "./dev install, which installs it, or headroom test --virtual-memory, which needs "
               "no Python"};
}

}  // namespace headroom::cli
