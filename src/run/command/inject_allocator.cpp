// SPDX-License-Identifier: Apache-2.0
#include "run/command/inject_allocator.h"

#include <fmt/format.h>

#include "run/command/variables.h"

namespace headroom::run {
namespace {

constexpr const char* torch_variable = "HEADROOM_TORCH_LIBRARY";
constexpr const char* onnx_variable = "HEADROOM_ONNX_LIBRARY";
constexpr const char* split_variable = "HEADROOM_SPLIT";
constexpr const char* python_path = "PYTHONPATH";

}  // namespace

Status inject_allocator(const InjectedFiles& files, std::optional<bool> split,
                        CommandEnvironment& environment) {
  if (files.python_site.find(':') != std::string::npos) {
    return Error{Errc::unsupported,
                 fmt::format("--allocator: expected a folder without a colon, found {}; PYTHONPATH "
                             "cannot hold it",
                             files.python_site),
                 "install headroom elsewhere: ./dev install PREFIX"};
  }
  const auto had = value_of(environment.variables, python_path);
  const bool any = had && !had->empty();
  set(environment.variables, python_path, files.python_site + (any ? ":" + *had : ""));
  set(environment.variables, torch_variable, files.torch_library);
  set(environment.variables, onnx_variable, files.onnx_library);
  if (split) set(environment.variables, split_variable, *split ? "on" : "off");
  return Done{};
}

}  // namespace headroom::run
