// SPDX-License-Identifier: Apache-2.0
#include "run/command/inject_allocator.h"

#include <fmt/format.h>

#include <algorithm>

#include "run/command/variables.h"

namespace headroom::run {
namespace {

constexpr const char* torch_variable = "HEADROOM_TORCH_LIBRARY";
constexpr const char* onnx_variable = "HEADROOM_ONNX_LIBRARY";
constexpr const char* split_variable = "HEADROOM_SPLIT";
constexpr const char* hip_variable = "HEADROOM_HIP_LIBRARY";
constexpr const char* preload = "LD_PRELOAD";
constexpr const char* python_path = "PYTHONPATH";
constexpr const char* between_preloaded = ": \t\n";  // What the loader takes for the end of a path.

bool has(const std::string& list, const std::string& path) {
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find_first_of(between_preloaded, at), list.size());
    if (list.compare(at, end - at, path) == 0) return true;
    at = end + 1;
  }
  return false;
}

// The user's own libraries stay first: what they replace, they replace for HIP programs too.
void preload_for_hip(const InjectedFiles& files, CommandEnvironment& environment) {
  if (files.preload_library.find_first_of(between_preloaded) != std::string::npos) {
    environment.said.push_back(fmt::format(
        "--allocator: HIP programs other than PyTorch do not get it: LD_PRELOAD cannot hold the "
        "blank or colon in {}; install headroom elsewhere: ./dev install PREFIX",
        files.preload_library));
    return;
  }
  const std::string had = value_of(environment.variables, preload).value_or("");
  if (!has(had, files.preload_library))
    set(environment.variables, preload, had + (had.empty() ? "" : ":") + files.preload_library);
  set(environment.variables, hip_variable, files.hip_library);
}

}  // namespace

Status put_on_python_path(const std::string& folder, const std::string& option,
                          std::vector<std::string>& variables) {
  if (folder.find(':') != std::string::npos) {
    return Error{Errc::unsupported,
                 fmt::format("{}: expected a folder without a colon, found {}; PYTHONPATH cannot "
                             "hold it",
                             option, folder),
                 "install headroom elsewhere: ./dev install PREFIX"};
  }
  const std::string had = value_of(variables, python_path).value_or("");
  if ((had + ":").starts_with(folder + ":")) return Done{};
  set(variables, python_path, folder + (had.empty() ? "" : ":" + had));
  return Done{};
}

Status inject_allocator(const InjectedFiles& files, std::optional<bool> split,
                        CommandEnvironment& environment) {
  HEADROOM_CHECK(put_on_python_path(files.python_site, "--allocator", environment.variables));
  set(environment.variables, torch_variable, files.torch_library);
  set(environment.variables, onnx_variable, files.onnx_library);
  preload_for_hip(files, environment);
  if (split) set(environment.variables, split_variable, *split ? "on" : "off");
  return Done{};
}

}  // namespace headroom::run
