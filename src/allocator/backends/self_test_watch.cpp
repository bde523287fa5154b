// SPDX-License-Identifier: Apache-2.0
#include "allocator/backends/self_test_watch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/backends/cuda_driver.h"
#include "allocator/backends/device_backend.h"
#include "allocator/backends/driver_access.h"
#include "allocator/backends/hip_driver.h"
#include "allocator/backends/host_access.h"
#include "allocator/self_test/self_test_record.h"
#include "base/document.h"
#include "base/text.h"
#include "machine/bounded_call.h"
#include "machine/descriptor.h"
#include "machine/os_error.h"

namespace headroom::allocator {
namespace {

// What the child tells, a line each; less than a pipe holds, so that nobody has to read meanwhile.
constexpr std::string_view step_line = "step ";
constexpr std::string_view report_line = "report ";
constexpr std::string_view refused_line = "refused";  // There is nothing to be tested.

void tell(int fd, std::string_view kind, std::string_view what) {
  const std::string line = std::string(kind) + std::string(what) + "\n";
  // A reader that is gone, or a pipe that is full: the parent then knows less, no more than that.
  [[maybe_unused]] const ssize_t written = ::write(fd, line.data(), line.size());
}

Status test_in_child(int fd, const std::function<Result<SelfTestSubject>()>& open,
                     const SelfTestLimits& limits) {
  tell(fd, step_line, "opening the driver");
  auto subject = open();
  if (!subject) {
    tell(fd, refused_line, "");
    return std::move(subject).error();
  }
  const SelfTestReport report =
      run_self_test(*subject->backend, *subject->access, limits,
                    [fd](std::string_view name) { tell(fd, step_line, name); });
  tell(fd, step_line, "closing the driver");
  *subject = {};
  tell(fd, report_line, to_json(report).dump(-1, ' ', false, Json::error_handler_t::replace));
  return Done{};
}

// All that is in the pipe. It may have other writers that never end, so the end is not waited for.
std::string read_all(int fd) {
  std::string text;
  std::array<char, 4096> piece{};
  while (true) {
    const ssize_t count = ::read(fd, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(count));
  }
}

// What the child began, the last of which it did not end.
SelfTestReport broken_off(const std::vector<std::string_view>& told, const std::string& how) {
  SelfTestReport report;
  for (const std::string_view line : told) {
    if (!line.starts_with(step_line)) continue;
    if (!report.steps.empty()) report.steps.back().passed = true;
    report.steps.push_back({std::string(line.substr(step_line.size())),
                            "an answer in time, from a process that lives", "", false});
  }
  if (!report.steps.empty()) report.steps.back().found = how;
  return report;
}

Result<SelfTestSubject> on_trial(Result<std::unique_ptr<Driver>> driver) {
  if (!driver) return std::move(driver).error();
  HEADROOM_TRY(auto backend, DeviceBackend::on_trial(*std::move(driver)));
  auto access = std::make_unique<DriverAccess>(backend->driver());
  return SelfTestSubject{std::move(backend), std::move(access)};
}

}  // namespace

Result<SelfTestReport> run_watched_self_test(const std::function<Result<SelfTestSubject>()>& open,
                                             const SelfTestLimits& limits,
                                             std::uint64_t timeout_ms) {
  constexpr const char* doing = "testing virtual memory";
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return machine::os_error(errno, doing);
  const machine::Descriptor ours(ends[0]);
  const machine::Descriptor theirs(ends[1]);
  const Status ended = machine::call_bounded(
      [&] { return test_in_child(theirs.get(), open, limits); }, timeout_ms, doing);
  const std::string text = read_all(ours.get());
  const std::vector<std::string_view> told = split(text, '\n');
  for (const std::string_view line : told) {
    if (line.starts_with(refused_line))
      return ended ? machine::os_error(EIO, doing) : ended.error();
    if (!line.starts_with(report_line)) continue;
    HEADROOM_TRY(const Json json, parse_json(line.substr(report_line.size())));
    return parse_report(json);
  }
  if (ended) return Error{Errc::io, std::string(doing) + ": the child said nothing", ""};
  if (text.empty()) return ended.error();  // There was no child.
  return broken_off(told, ended.error().message);
}

Result<SelfTestSubject> open_hip_subject(int device) {
  return on_trial(open_hip(device));
}

Result<SelfTestSubject> open_cuda_subject(int device) {
  return on_trial(open_cuda(device));
}

Result<SelfTestSubject> open_host_subject() {
  HEADROOM_TRY(auto backend, HostBackend::create());
  auto access = std::make_unique<HostAccess>(*backend);
  return SelfTestSubject{std::move(backend), std::move(access)};
}

}  // namespace headroom::allocator
