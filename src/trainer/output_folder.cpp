// SPDX-License-Identifier: Apache-2.0
#include "trainer/output_folder.h"

#include <fmt/format.h>

#include <filesystem>

#include "trainer/checkpoint.h"

namespace headroom::trainer {
namespace {

namespace fs = std::filesystem;

bool holds(const std::string& folder, const std::string& name) {
  std::error_code ignored;
  return fs::exists(fs::path(folder) / name, ignored);
}

Status check_room(const std::string& folder, Bytes needed) {
  std::error_code problem;
  const fs::space_info space = fs::space(folder, problem);
  if (problem || space.available >= needed.value) return Done{};  // Writing says what is wrong.
  return Error{Errc::no_space,
               fmt::format("{} has room for {}, and the run writes up to {} (the result and two "
                           "checkpoints)",
                           folder, to_string(Bytes{space.available}), to_string(needed)),
               "free space there, or choose another folder with --output"};
}

}  // namespace

Bytes output_bytes(const FixedBytes& fixed) {
  const std::uint64_t trained = fixed.gradients;
  return {trained + 2 * (trained + fixed.optimizer)};
}

Status open_output(const std::string& folder, bool resume, const FixedBytes& fixed) {
  const bool has_checkpoint = holds(folder, "checkpoint/state.safetensors");
  if (resume && !has_checkpoint) {
    return Error{Errc::not_found,
                 fmt::format("expected a checkpoint in {}/checkpoint, found none", folder),
                 "start without --resume, or name the run's folder with --output"};
  }
  if (!resume) {
    for (const char* result :
         {"checkpoint/state.safetensors", "model.safetensors", "adapter_model.safetensors"}) {
      if (!holds(folder, result)) continue;
      return Error{Errc::invalid, fmt::format("{} already holds a run ({})", folder, result),
                   "go on with it: --resume; or name another folder with --output"};
    }
  }
  std::error_code problem;
  fs::create_directories(fs::path(folder) / "checkpoint", problem);
  if (problem) {
    return Error{problem == std::errc::no_space_on_device ? Errc::no_space : Errc::no_permission,
                 fmt::format("making the folder {}: {}", folder, problem.message()),
                 "choose a folder you may write to with --output"};
  }
  return check_room(folder, output_bytes(fixed));
}

}  // namespace headroom::trainer
