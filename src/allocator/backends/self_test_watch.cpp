// SPDX-License-Identifier: Apache-2.0
#include "allocator/backends/self_test_watch.h"

#include <fmt/format.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/backends/cuda_driver.h"
#include "allocator/backends/device_backend.h"
#include "allocator/backends/driver_access.h"
#include "allocator/backends/hip_driver.h"
#include "allocator/backends/host_access.h"
#include "allocator/backends/told_by_child.h"
#include "allocator/self_test/self_test_record.h"
#include "base/document.h"
#include "base/text.h"
#include "machine/clock.h"
#include "machine/os_error.h"

namespace headroom::allocator {
namespace {

// What the child tells, a line each: the time at which a step began and its name, the report.
constexpr std::string_view step_line = "step ";
constexpr std::string_view report_line = "report ";
constexpr std::string_view refused_line = "refused";  // There is nothing to be tested.

void tell_step(const Teller& teller, std::string_view name) {
  teller.tell(fmt::format("{}{} {}", step_line, machine::monotonic_ns(), name));
}

Status test_in_child(const Teller& teller, const std::function<Result<SelfTestSubject>()>& open,
                     const SelfTestLimits& limits) {
  tell_step(teller, "opening the driver");
  auto subject = open();
  if (!subject) {
    teller.tell(refused_line);
    return std::move(subject).error();
  }
  const SelfTestReport report =
      run_self_test(*subject->backend, *subject->access, limits,
                    [&teller](std::string_view name) { tell_step(teller, name); });
  tell_step(teller, "closing the driver");
  *subject = {};
  teller.tell(std::string(report_line) +
              to_json(report).dump(-1, ' ', false, Json::error_handler_t::replace));
  return Done{};
}

// What the child began, the last of which it did not end.
SelfTestReport broken_off(const std::vector<std::string_view>& told, const std::string& how) {
  SelfTestReport report;
  std::uint64_t begun_ns = 0;
  for (const std::string_view line : told) {
    if (!line.starts_with(step_line)) continue;
    const std::string_view step = line.substr(step_line.size());
    const std::size_t blank = step.find(' ');
    const std::uint64_t now_ns = parse_u64(step.substr(0, blank)).value_or(begun_ns);
    if (!report.steps.empty()) {
      report.steps.back().passed = true;
      report.steps.back().took_ns = now_ns - begun_ns;
    }
    begun_ns = now_ns;
    report.steps.push_back({std::string(step.substr(blank + 1)),
                            "an answer in time, from a process that lives", "", false});
  }
  if (!report.steps.empty()) report.steps.back().found = how;
  return report;
}

std::string describe_end(const ToldByChild& child, std::uint64_t timeout_ms) {
  std::string how = child.ended.error().code == Errc::busy
                        ? fmt::format("no answer within {} s", timeout_ms / 1000)
                        : "that the process was ended";
  if (!child.last_words.empty()) how += "; it said: " + child.last_words;
  return how;
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
  HEADROOM_TRY(const ToldByChild child,
               ask_child([&](const Teller& teller) { return test_in_child(teller, open, limits); },
                         timeout_ms, doing));
  const std::vector<std::string_view> told = split(child.told, '\n');
  for (const std::string_view line : told) {
    if (line.starts_with(refused_line))
      return child.ended ? machine::os_error(EIO, doing) : child.ended.error();
    if (!line.starts_with(report_line)) continue;
    HEADROOM_TRY(const Json json, parse_json(line.substr(report_line.size())));
    return parse_report(json);
  }
  if (child.ended) return Error{Errc::io, std::string(doing) + ": the child said nothing", ""};
  if (child.told.empty()) return child.ended.error();  // There was no child.
  return broken_off(told, describe_end(child, timeout_ms));
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
