// SPDX-License-Identifier: Apache-2.0
#include "trainer/event_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "machine/os_error.h"
#include "machine/user_files.h"
#include "trainer/output_folder.h"

namespace headroom::trainer {
namespace {

// TensorBoard takes every file whose name contains "tfevents", and reads them in the order of their
// names; TensorFlow's go on with the seconds since 1970.
constexpr std::string_view name_prefix = "events.out.tfevents.";
constexpr std::string_view name_ending = ".headroom";

double wall_time_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// The seconds in the last name of those in the folder; 0: there is none.
std::uint64_t latest_in(const std::string& folder) {
  const auto names = machine::list_folder(folder);
  if (!names) return 0;
  std::uint64_t latest = 0;
  for (std::string_view name : *names) {
    if (!name.starts_with(name_prefix)) continue;
    name.remove_prefix(name_prefix.size());
    latest = std::max(latest, parse_u64(name.substr(0, name.find('.'))).value_or(0));
  }
  return latest;
}

}  // namespace

Result<EventFile> EventFile::create(const std::string& folder, std::uint64_t steps) {
  HEADROOM_CHECK(make_folder(folder));
  const double now_s = wall_time_s();
  // The clock may have gone back, and a run may be resumed within a second.
  constexpr std::uint64_t last_of_ten_digits = 9'999'999'999;
  const std::uint64_t stamp = std::min(
      std::max(static_cast<std::uint64_t>(now_s), latest_in(folder) + 1), last_of_ten_digits);
  const std::string path = fmt::format("{}/{}{:010}{}", folder, name_prefix, stamp, name_ending);
  constexpr mode_t usual_permissions = 0644;
  machine::Descriptor file(
      ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, usual_permissions));
  if (file.get() < 0) return machine::os_error(errno, "writing " + path);
  EventFile events(path, std::move(file));
  HEADROOM_CHECK(events.write(version_record(now_s) + session_record(now_s, steps + 1)));
  return events;
}

Status EventFile::add(const StepMetrics& metrics) {
  Scalars scalars = {{"train/loss", metrics.loss},
                     {"train/learning_rate", metrics.learning_rate},
                     {"train/gradient_norm", metrics.gradient_norm},
                     {"speed/tokens_per_s", metrics.tokens_per_s()}};
  if (metrics.host_live_peak_bytes)
    scalars.emplace_back("memory/host_live_peak_bytes",
                         static_cast<double>(*metrics.host_live_peak_bytes));
  if (metrics.live_peak_bytes)
    scalars.emplace_back("memory/live_peak_bytes", static_cast<double>(*metrics.live_peak_bytes));
  if (metrics.reserved_peak_bytes)
    scalars.emplace_back("memory/reserved_peak_bytes",
                         static_cast<double>(*metrics.reserved_peak_bytes));
  return write(scalar_record(wall_time_s(), metrics.step, scalars));
}

Status EventFile::add(const EvaluationMetrics& metrics) {
  return write(scalar_record(wall_time_s(), metrics.step, {{"eval/loss", metrics.loss}}));
}

Status EventFile::write(const std::string& record) {
  std::string_view rest = record;
  while (!rest.empty()) {
    const ssize_t count = ::write(file_.get(), rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      Error error = machine::os_error(errno, "writing " + path_);
      static_cast<void>(::ftruncate(file_.get(), static_cast<off_t>(bytes_)) != 0);
      return error;
    }
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
  bytes_ += record.size();
  return Done{};
}

}  // namespace headroom::trainer
