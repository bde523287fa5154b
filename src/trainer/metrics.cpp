// SPDX-License-Identifier: Apache-2.0
#include "trainer/metrics.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

#include "base/document.h"
#include "machine/os_error.h"
#include "machine/user_files.h"
#include "report/out_of_memory_json.h"
#include "report/plan_json.h"
#include "trainer/atomic_file.h"

namespace headroom::trainer {
namespace {

Error not_written(const std::string& path) {
  return machine::os_error(errno, "writing " + path);
}

bool is_kept(std::string_view line, std::uint64_t last) {
  const auto json = parse_json(line);
  return json && json->is_object() && json->contains("step") &&
         (*json)["step"].is_number_unsigned() && (*json)["step"].get<std::uint64_t>() <= last;
}

// Writes the file anew with the lines of steps up to `last`, one by one: a long run's do not fit in
// what a job may take. Returns how many bytes they have.
Result<std::uint64_t> keep_lines(const std::string& path, std::uint64_t last) {
  HEADROOM_TRY(AtomicFile kept, AtomicFile::create(path));
  std::ifstream file(path, std::ios::binary);
  std::uint64_t bytes = 0;
  std::string block;
  const auto write_block = [&] {
    bytes += block.size();
    const Status written = kept.write(block.data(), block.size());
    block.clear();
    return written;
  };
  constexpr std::size_t block_bytes = std::size_t{1} << 20U;
  for (std::string line; std::getline(file, line);) {
    if (is_kept(line, last)) block.append(line).append("\n");
    if (block.size() >= block_bytes) HEADROOM_CHECK(write_block());
  }
  if (file.bad()) return machine::os_error(errno, "reading " + path);
  HEADROOM_CHECK(write_block());
  HEADROOM_CHECK(kept.commit());
  return bytes;
}

Json to_json(const OutOfMemoryEvent& event) {
  Json json = report::to_json(event.problem);
  json["step"] = event.step;
  if (event.done_again_with) json["done_again_with"] = *event.done_again_with;
  return json;
}

template <class Number>
Json optional_number(const std::optional<Number>& number) {
  return number ? Json(*number) : Json(nullptr);
}

Json to_json(const Pace& pace) {
  return {{"steps", pace.steps}, {"elapsed_s", pace.elapsed_s}, {"quiet_s", pace.quiet_s}};
}

Json to_json(const RunTotals::Evaluated& evaluation) {
  return {{"samples", evaluation.samples},
          {"tokens", evaluation.tokens},
          {"last_loss", optional_number(evaluation.last_loss)},
          {"best_loss", evaluation.best_loss},
          {"best_step", evaluation.best_step}};
}

Json to_json(const MeasuredMemory::Host& host) {
  return {{"allocated_bytes", host.usage.live_peak_bytes},
          {"reserved_bytes", host.usage.reserved_peak_bytes},
          {"capacity_bytes", host.capacity_bytes},
          {"components", report::to_json(host.usage.live_at_peak)}};
}

Json to_json(const MeasuredMemory& memory) {
  Json json = {{"allocated_bytes", memory.usage.live_peak_bytes},
               {"reserved_bytes", memory.usage.reserved_peak_bytes},
               {"device_bytes", memory.usage.reserved_peak_bytes},
               {"capacity_bytes", memory.capacity_bytes},
               {"components", report::to_json(memory.usage.live_at_peak)},
               {"component_peaks", report::to_json(memory.peak_by_component)},
               {"allocator",
                {{"device_calls", memory.usage.device_calls},
                 {"growths", memory.misses.growths},
                 {"repairs", memory.misses.repairs},
                 {"flushes", memory.misses.flushes},
                 {"iterations", memory.plans.iterations},
                 {"plans", memory.plans.plans},
                 {"planned", memory.plans.planned},
                 {"broken_plans", memory.plans.broken}}}};
  if (memory.host) json["host"] = to_json(*memory.host);
  return json;
}

}  // namespace

Json to_json(const StepMetrics& metrics) {
  Json json = {{"step", metrics.step},
               {"epoch", metrics.epoch},
               {"loss", metrics.loss},
               {"learning_rate", metrics.learning_rate},
               {"gradient_norm", metrics.gradient_norm},
               {"tokens", metrics.tokens},
               {"tokens_per_s", metrics.tokens_per_s()},
               {"step_s", metrics.step_s},
               {"elapsed_s", metrics.elapsed_s},
               {"live_peak_bytes", optional_number(metrics.live_peak_bytes)},
               {"reserved_peak_bytes", optional_number(metrics.reserved_peak_bytes)}};
  if (metrics.host_live_peak_bytes) json["host_live_peak_bytes"] = *metrics.host_live_peak_bytes;
  return json;
}

Json to_json(const EvaluationMetrics& metrics) {
  return {{"step", metrics.step},
          {"epoch", metrics.epoch},
          {"evaluation_loss", metrics.loss},
          {"best", metrics.best},
          {"evaluation_s", metrics.evaluation_s},
          {"elapsed_s", metrics.elapsed_s}};
}

Result<MetricsFile> MetricsFile::open(const std::string& path, std::uint64_t resumed_at) {
  std::uint64_t bytes = 0;
  std::error_code unreadable;
  if (resumed_at > 0 && std::filesystem::is_regular_file(path, unreadable)) {
    HEADROOM_TRY(bytes, keep_lines(path, resumed_at));
  } else {
    HEADROOM_CHECK(machine::write_file_atomic(path, ""));
  }
  machine::Descriptor file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (file.get() < 0) return not_written(path);
  return MetricsFile(path, std::move(file), bytes);
}

Status MetricsFile::add(const StepMetrics& metrics) {
  return add_line(to_json(metrics));
}

Status MetricsFile::add(const EvaluationMetrics& metrics) {
  return add_line(to_json(metrics));
}

Status MetricsFile::add_line(const Json& json) {
  const std::string line = json.dump() + "\n";
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t count = ::write(file_.get(), rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      Error error = not_written(path_);
      // Half a line is dropped by whoever resumes, if it cannot be cut off here.
      static_cast<void>(::ftruncate(file_.get(), static_cast<off_t>(bytes_)) != 0);
      return error;
    }
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
  bytes_ += line.size();
  return Done{};
}

void add_peaks(const MeasuredMemory& memory, StepMetrics& line) {
  line.live_peak_bytes = memory.usage.live_peak_bytes;
  line.reserved_peak_bytes = memory.usage.reserved_peak_bytes;
  if (memory.host) line.host_live_peak_bytes = memory.host->usage.live_peak_bytes;
}

Json make_report(const RunTotals& totals, const std::optional<MeasuredMemory>& memory,
                 const Json& predicted, const Json& settings) {
  Json events = Json::array();
  for (const OutOfMemoryEvent& event : totals.out_of_memory) events.push_back(to_json(event));
  const double rate =
      totals.elapsed_s > 0 ? static_cast<double>(totals.tokens) / totals.elapsed_s : 0;
  Json report = {{"schema", "headroom.train/1"},
                 {"completed", totals.completed},
                 {"steps", totals.steps},
                 {"samples", totals.samples},
                 {"tokens", totals.tokens},
                 {"tokens_per_s", rate},
                 {"elapsed_s", totals.elapsed_s},
                 {"first_loss", optional_number(totals.first_loss)},
                 {"last_loss", optional_number(totals.last_loss)},
                 {"evaluation", totals.evaluation ? to_json(*totals.evaluation) : Json(nullptr)},
                 {"predicted", predicted},
                 {"measured", memory ? to_json(*memory) : Json(nullptr)},
                 {"timed", to_json(totals.pace)},
                 {"oom_events", events},
                 {"settings", settings}};
  for (const RunTotals::RankPeak& one : totals.ranks) {
    Json rank = {{"rank", one.rank},
                 {"allocated_bytes", one.allocated_bytes},
                 {"reserved_bytes", one.reserved_bytes}};
    if (one.host_bytes > 0) rank["host"] = {{"allocated_bytes", one.host_bytes}};
    report["ranks"].push_back(std::move(rank));
  }
  Json missing = Json::object();
  for (std::size_t i = 0; i < totals.out_of_memory.size(); ++i)
    report::add_missing(totals.out_of_memory[i].problem, fmt::format("/oom_events/{}", i), missing);
  if (!memory) missing["/measured"] = "libtorch's own memory was used, which nobody counts";
  if (predicted.is_null()) missing["/predicted"] = "the job was not planned before it ran";
  if (predicted.contains("missing")) {
    for (const auto& [pointer, reason] : predicted["missing"].items()) {
      missing["/predicted" + pointer] = reason;
    }
  }
  if (!totals.first_loss) {
    missing["/first_loss"] = "no step was finished";
    missing["/last_loss"] = "no step was finished";
  }
  if (!totals.evaluation)
    missing["/evaluation"] = "the job has no data.evaluation, or no evaluation was finished";
  else if (!totals.evaluation->last_loss)
    missing["/evaluation/last_loss"] = "this process made no evaluation";
  report["missing"] = missing;
  return report;
}

}  // namespace headroom::trainer
