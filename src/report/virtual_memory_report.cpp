// SPDX-License-Identifier: Apache-2.0
#include "report/virtual_memory_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/text.h"

namespace headroom::report {
namespace {

using Use = VirtualMemoryUse;

std::size_t count(const VirtualMemoryReport& report, Use use) {
  const auto is_so = [use](const TestedDevice& device) { return device.use == use; };
  return static_cast<std::size_t>(
      std::count_if(report.devices.begin(), report.devices.end(), is_so));
}

bool lacks_a_gpu(const VirtualMemoryReport& report) {
  return std::any_of(report.absent.begin(), report.absent.end(),
                     [](const AbsentRuntime& absent) { return absent.has_gpu; });
}

std::string_view name_of(Use use) {
  switch (use) {
    case Use::used:
      return "used";
    case Use::failed:
      return "failed";
    case Use::denied:
      return "denied";
    case Use::not_kept:
      return "not_kept";
    case Use::untested:
      break;
  }
  return "untested";
}

// "HIP 7.2.53211, driver of Linux 6.11.0-29-generic".
std::string versions_of(const TestedDevice& device) {
  const allocator::VirtualMemoryKey& key = device.key;
  const auto known = [](const std::string& text) { return text.empty() ? "unknown" : text; };
  if (device.is_host()) return "Linux " + known(key.driver);
  if (device.runtime == "CUDA") return "driver of CUDA " + known(key.driver);
  return fmt::format("{} {}, driver of Linux {}", device.runtime, known(key.runtime),
                     known(key.driver));
}

std::string title_of(const TestedDevice& device) {
  if (device.is_host()) return "Host memory";
  std::string title = device.name.empty() ? "A GPU" : device.name;
  if (device.runtime == "HIP" && !device.key.gpu.empty())
    title += fmt::format(" ({})", device.key.gpu);
  if (!device.pci.empty()) title += " at " + device.pci;
  return fmt::format("{}, GPU {} of {}", title, device.device, device.runtime);
}

// What changes for its user.
std::string consequence_of(const TestedDevice& device) {
  switch (device.use) {
    case Use::used:
      return device.is_host()
                 ? "works. headroom run and the allocator's C interface use it, as before."
                 : "works. From now on headroom's allocator uses it on this GPU, and moves free "
                   "memory to where a request needs it. The verdict is valid until the driver or "
                   "the runtime changes.";
    case Use::failed:
      return device.is_host()
                 ? "failed. headroom run and the allocator's C interface work without it here."
                 : "failed. headroom's allocator works without it on this GPU. Everything works, "
                   "but needs a little more memory if block sizes vary.";
    case Use::denied:
    case Use::not_kept:
      return fmt::format("passed, but is not used: {}.", device.why);
    case Use::untested:
      break;
  }
  return fmt::format("not tested: {}.", device.why);
}

// As wide for every step of every device.
std::string time_of(const allocator::SelfTestStep& step) {
  if (!step.took_ns) return "";
  const double ms = static_cast<double>(*step.took_ns) / 1e6;
  return fmt::format("{:>8}",
                     ms < 999.9 ? fmt::format("{:.1f} ms", ms) : fmt::format("{:.1f} s", ms / 1e3));
}

std::string describe_steps(const allocator::SelfTestReport& result, const Style& style) {
  std::vector<std::vector<std::string>> rows{{"step", "took", "", "found"}};
  for (const allocator::SelfTestStep& step : result.steps) {
    const std::string found =
        step.passed ? step.found : fmt::format("expected {}; found {}", step.expected, step.found);
    rows.push_back({step.name, time_of(step), step.passed ? "ok" : "FAILED", printable(found)});
  }
  std::string text;
  const auto lines =
      table(rows, {Align::left, Align::right, Align::left, Align::left}, 2, style.width);
  for (const TableLine& line : lines) {
    const bool failed = line.row > 0 && !result.steps[line.row - 1].passed;
    text += line.row == 0 ? style.dim(line.text) : failed ? style.red(line.text) : line.text;
    text += "\n";
  }
  return text;
}

std::string describe(const TestedDevice& device, const Style& style) {
  std::string text = "\n" + style.bold(printable(title_of(device))) + "\n";
  text += fold(printable(versions_of(device)), "", style.width);
  if (device.result) text += describe_steps(*device.result, style);
  const std::string consequence =
      fold(printable(consequence_of(device)), "  Virtual memory ", style.width);
  return text + consequence;
}

std::string heading(const VirtualMemoryReport& report, const Style& style) {
  const std::size_t works = count(report, Use::used), failed = count(report, Use::failed);
  const std::size_t all = report.devices.size();
  const std::string what = fmt::format("Virtual memory works on {} of {} {}", works, all,
                                       all == 1 ? "device" : "devices");
  if (failed > 0) return style.red(fmt::format("{}, and failed on {}.", what, failed)) + "\n";
  const bool whole = works == all && !lacks_a_gpu(report);
  return (whole ? style.green(what + ".") : style.yellow(what + ".")) + "\n";
}

struct Next {
  std::string command, remark;
};

Next next_of(const VirtualMemoryReport& report) {
  if (!report.not_kept.empty())
    return {"headroom test --virtual-memory --self-test FILE",
            "keeps the verdicts in another file"};
  if (count(report, Use::failed) > 0)
    return {"headroom check", "shows this machine's driver and runtime; a newer one may pass"};
  if (lacks_a_gpu(report) || count(report, Use::untested) > 0)
    return {"headroom check", "says why a GPU cannot be used"};
  return {"headroom test --virtual-memory",
          "run it again after an update of the driver or the runtime"};
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json to_json(const TestedDevice& device) {
  return {{"runtime", device.is_host() ? "host" : to_lower(device.runtime)},
          {"device", device.device},
          {"name", device.name},
          {"pci", text_or_null(device.pci)},
          {"key",
           {{"gpu", text_or_null(device.key.gpu)},
            {"driver", text_or_null(device.key.driver)},
            {"runtime", text_or_null(device.key.runtime)}}},
          {"result", device.result ? allocator::to_json(*device.result) : Json(nullptr)},
          {"verdict", name_of(device.use)},
          {"used", device.use == Use::used},
          {"why", text_or_null(device.why)},
          {"consequence", "Virtual memory " + consequence_of(device)}};
}

}  // namespace

Json to_json(const VirtualMemoryReport& report) {
  Json devices = Json::array();
  for (const TestedDevice& device : report.devices) devices.push_back(to_json(device));
  Json absent = Json::array();
  for (const AbsentRuntime& runtime : report.absent) {
    absent.push_back({{"runtime", to_lower(runtime.runtime)},
                      {"why", runtime.why},
                      {"has_gpu", runtime.has_gpu}});
  }
  return {{"schema", "headroom.test/1"},
          {"virtual_memory",
           {{"self_test_version", allocator::self_test_version},
            {"devices", std::move(devices)},
            {"absent", std::move(absent)},
            {"kept_in", report.not_kept.empty() ? Json(report.path) : Json(nullptr)},
            {"not_kept", text_or_null(report.not_kept)}}},
          {"next", next_of(report).command}};
}

std::string to_text(const VirtualMemoryReport& report, const Style& style) {
  std::string text = heading(report, style);
  for (const TestedDevice& device : report.devices) text += describe(device, style);
  text += "\n";
  for (const AbsentRuntime& absent : report.absent)
    text += fold(printable(fmt::format("No {} GPU was tested: {}.", absent.runtime, absent.why)),
                 "", style.width);
  if (report.not_kept.empty()) {
    const std::string path = keep_whole(printable(report.path));
    text +=
        fold("Saved in " + path +
                 (report.named
                      ? ", which programs use if they give it to the allocator as self_test_path."
                      : ""),
             "", style.width);
  } else {
    text += fold(printable("The verdicts were not saved: " + report.not_kept), "", style.width);
  }
  const Next next = next_of(report);
  text += next_line(next.command, next.remark, style);
  return fit(text, style.width);
}

}  // namespace headroom::report
