// SPDX-License-Identifier: Apache-2.0
#include "trainer/output_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "trainer/atomic_file.h"
#include "trainer/checkpoint.h"
#include "trainer/device_memory.h"
#include "trainer/event_file.h"
#include "trainer/run_page.h"

namespace headroom::trainer {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t block_bytes = 4096;  // Files take whole ones, as most file systems have it.
// Of a safetensors header, at most: a name, its shape and place, a checksum.
constexpr std::uint64_t header_bytes_a_tensor = 640;
constexpr std::uint64_t line_bytes = 400;  // Of metrics.jsonl, with every number at its longest.
constexpr std::uint64_t small_file_bytes = 16384;  // A configuration; a report without the plan.

// What a run leaves of a model, by whether it has an adapter; the best beside the last.
constexpr std::array weight_files = {"model.safetensors", "adapter_model.safetensors",
                                     "best/model.safetensors", "best/adapter_model.safetensors"};

bool holds(const std::string& folder, const std::string& name) {
  std::error_code ignored;
  return fs::exists(fs::path(folder) / name, ignored);
}

std::uint64_t size_of_file(const std::string& path) {
  std::error_code problem;
  const std::uintmax_t bytes = fs::file_size(path, problem);
  return problem ? 0 : bytes;
}

// What a run writes at its end, or a model that was there before and would be mixed with it.
Status refuse_results(const std::string& folder) {
  std::vector<const char*> results(weight_files.begin(), weight_files.end());
  results.insert(results.begin(), "checkpoint/state.safetensors");
  for (const char* result : results) {
    if (!holds(folder, result)) continue;
    return Error{Errc::invalid, fmt::format("{} already holds a run ({})", folder, result),
                 "go on with it: --resume; or name another folder with --output"};
  }
  for (const char* part : {"config.json", "adapter_config.json", "model.safetensors.index.json"}) {
    if (!holds(folder, part)) continue;
    return Error{Errc::invalid, fmt::format("{} already holds a model ({})", folder, part),
                 "name another folder with --output; a run writes its own config.json"};
  }
  return Done{};
}

Status check_contents(const std::string& folder, bool resume) {
  if (!resume) return refuse_results(folder);
  if (holds(folder, "checkpoint/state.safetensors")) return Done{};
  return Error{Errc::not_found,
               fmt::format("expected a checkpoint in {}/checkpoint, found none", folder),
               "start without --resume, or name the run's folder with --output"};
}

// At most: seven projections with their biases and four norms, or two matrices for each adapter.
std::uint64_t tensors_of(const Settings& settings) {
  constexpr std::uint64_t in_a_layer = 18;
  constexpr std::uint64_t outside = 3;
  return settings.config.layers * in_a_layer + outside;
}

std::uint64_t in_blocks(std::uint64_t bytes) {
  return round_up(bytes, block_bytes);
}

}  // namespace

Status make_folder(const std::string& path) {
  std::error_code problem;
  fs::create_directories(path, problem);
  if (!problem) return Done{};
  return Error{problem == std::errc::no_space_on_device ? Errc::no_space : Errc::no_permission,
               fmt::format("making the folder {}: {}", path, problem.message()),
               "choose a folder you may write to with --output"};
}

Result<OutputLock> open_output(const std::string& folder, bool resume) {
  // Before anything is made, so that a mistyped folder stays away; and once it is ours.
  HEADROOM_CHECK(check_contents(folder, resume));
  HEADROOM_CHECK(make_folder(folder + "/checkpoint"));
  HEADROOM_TRY(OutputLock lock, OutputLock::take(folder));
  HEADROOM_CHECK(check_contents(folder, resume));
  for (const char* file : weight_files) remove_parts(folder + "/" + file);
  remove_parts(checkpoint_path(folder));
  remove_parts(folder + "/metrics.jsonl");
  return lock;
}

OutputSize output_size(const Settings& own, const RunLength& length) {
  Settings settings = own;
  settings.model.part.reset();  // Of a split model one rank writes what all of them have.
  const FixedBytes fixed = fixed_bytes(settings);
  const std::uint64_t trained = fixed.gradients;
  const std::uint64_t headers = header_bytes_a_tensor * tensors_of(settings);
  OutputSize size;
  size.result = in_blocks(trained + headers) +
                in_blocks(settings.original_config.dump(2).size() + small_file_bytes);
  size.checkpoint =
      in_blocks(trained + fixed.optimizer + fixed.offloaded + 3 * headers + small_file_bytes);
  size.recording = length.recorded ? in_blocks(recording_bytes()) : 0;
  size.best = length.evaluations > 0 ? size.result : 0;
  const std::uint64_t lines = length.steps + length.evaluations;
  size.metrics = in_blocks(line_bytes * lines);
  if (length.has_events) size.metrics += in_blocks(event_bytes * lines + small_file_bytes);
  size.report = in_blocks(length.report_bytes + small_file_bytes) + page_bytes;
  return size;
}

Bytes room_needed(const std::string& folder, const OutputSize& size) {
  const std::uint64_t replaced = std::min(size_of_file(checkpoint_path(folder)), size.checkpoint) +
                                 std::min(size_of_file(recording_path(folder)), size.recording);
  return saturating_sub(Bytes{size.total()}, Bytes{replaced});
}

Status check_room(const std::string& folder, const OutputSize& size) {
  const Bytes needed = room_needed(folder, size);
  std::error_code problem;
  const fs::space_info space = fs::space(folder, problem);
  if (problem || space.available >= needed.value) return Done{};
  return Error{Errc::no_space,
               fmt::format("{} has room for {}, and the run writes up to {} more (the result, two "
                           "checkpoints{}{} and the metrics)",
                           folder, to_string(Bytes{space.available}), to_string(needed),
                           size.best > 0 ? ", the best model twice" : "",
                           size.recording > 0 ? ", the flight recording" : ""),
               "free space there, or choose another folder with --output"};
}

}  // namespace headroom::trainer
