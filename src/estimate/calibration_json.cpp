// SPDX-License-Identifier: Apache-2.0
// Calibrations as JSON. What is read may have been written by anybody: everything is checked before
// it is believed.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/document.h"
#include "base/printable.h"
#include "estimate/calibration.h"

namespace headroom::estimate {
namespace {

constexpr std::string_view schema = "headroom.calibration/1";
constexpr std::size_t list_max = 256;
constexpr std::size_t text_max = 200;
constexpr std::uint64_t threads_max = 4096;
constexpr double longest_step_s = 1e7;

Error wrong(std::string_view what) {
  return {Errc::invalid, fmt::format("expected a calibration with {}, found another", what), ""};
}

Result<const Json*> member(const Json& object, const char* name,
                           bool (Json::*is)() const noexcept) {
  if (!object.is_object()) return wrong("objects");
  const auto found = object.find(name);
  if (found == object.end() || !((*found).*is)())
    return wrong(fmt::format("\"{}\" of the right kind", name));
  return &*found;
}

Result<const Json*> list(const Json& object, const char* name) {
  HEADROOM_TRY(const Json* items, member(object, name, &Json::is_array));
  if (items->size() > list_max) return wrong(fmt::format("fewer of \"{}\"", name));
  return items;
}

Result<std::string> text(const Json& object, const char* name) {
  HEADROOM_TRY(const Json* found, member(object, name, &Json::is_string));
  const auto value = found->get<std::string>();
  if (value.empty() || value.size() > text_max || printable(value) != value)
    return wrong(fmt::format("a plain text as \"{}\"", name));
  return value;
}

// Above 0, and at most `most`.
Result<double> seconds(const Json& object, const char* name, double most) {
  HEADROOM_TRY(const Json* found, member(object, name, &Json::is_number));
  const auto value = found->get<double>();
  if (!(value > 0 && value <= most)) return wrong(fmt::format("a sensible \"{}\"", name));
  return value;
}

Result<DType> dtype_of(const Json& object) {
  HEADROOM_TRY(const std::string name, text(object, "dtype"));
  for (const DType dtype : {DType::fp32, DType::bf16, DType::fp16})
    if (to_string(dtype) == name) return dtype;
  return wrong("a known \"dtype\"");
}

Result<Operation> operation_of(const Json& object) {
  HEADROOM_TRY(const std::string name, text(object, "operation"));
  for (int i = 0; i <= static_cast<int>(last_operation); ++i)
    if (to_string(static_cast<Operation>(i)) == name) return static_cast<Operation>(i);
  return wrong("known operations");
}

Result<Grid> parse_grid(const Json& json, Operation operation) {
  HEADROOM_TRY(const Json* axes_json, list(json, "axes"));
  Grid::Axes axes;
  for (const Json& axis_json : *axes_json) {
    if (!axis_json.is_array() || axis_json.size() > list_max) return wrong("axes of sizes");
    auto& axis = axes.emplace_back();
    for (const Json& size : axis_json) {
      if (!size.is_number_unsigned()) return wrong("axes of sizes");
      axis.push_back(size.get<std::uint64_t>());
    }
  }
  if (axes.size() != size_count(operation)) return wrong("as many axes as an operation has sizes");
  HEADROOM_TRY(const Json* times_json, member(json, "seconds", &Json::is_array));
  std::vector<double> times;
  for (const Json& time : *times_json) {
    if (!time.is_number()) return wrong("times that are numbers");
    times.push_back(time.get<double>());
  }
  return Grid::make(std::move(axes), std::move(times));
}

Result<std::vector<MeasuredStep>> parse_steps(const Json& json, const char* name) {
  HEADROOM_TRY(const Json* items, list(json, name));
  std::vector<MeasuredStep> steps;
  for (const Json& item : *items) {
    MeasuredStep step;
    HEADROOM_TRY(step.dtype, dtype_of(item));
    HEADROOM_TRY(step.rates_s, seconds(item, "rates_s", longest_step_s));
    HEADROOM_TRY(step.measured_s, seconds(item, "measured_s", longest_step_s));
    steps.push_back(step);
  }
  return steps;
}

Json to_json(const std::vector<MeasuredStep>& steps) {
  Json json = Json::array();
  for (const MeasuredStep& step : steps)
    json.push_back({{"dtype", to_string(step.dtype)},
                    {"rates_s", step.rates_s},
                    {"measured_s", step.measured_s}});
  return json;
}

}  // namespace

Json to_json(const Calibration& calibration) {
  Json rates = Json::array();
  for (const auto& [what, grid] : calibration.rates)
    rates.push_back({{"operation", to_string(what.first)},
                     {"dtype", to_string(what.second)},
                     {"axes", grid.axes()},
                     {"seconds", grid.values()}});
  return {{"device", calibration.key.device},         {"engine", calibration.key.engine},
          {"threads", calibration.key.threads},       {"time", calibration.time},
          {"waited_share", calibration.waited_share}, {"rates", std::move(rates)},
          {"steps", to_json(calibration.steps)},      {"runs", to_json(calibration.runs)}};
}

Result<Calibration> parse_calibration(const Json& json) {
  Calibration calibration;
  HEADROOM_TRY(calibration.key.device, text(json, "device"));
  HEADROOM_TRY(calibration.key.engine, text(json, "engine"));
  HEADROOM_TRY(const Json* threads, member(json, "threads", &Json::is_number_unsigned));
  calibration.key.threads = threads->get<std::uint64_t>();
  if (calibration.key.threads == 0 || calibration.key.threads > threads_max)
    return wrong("a sensible number of threads");
  HEADROOM_TRY(calibration.time, text(json, "time"));
  HEADROOM_TRY(const Json* waited, member(json, "waited_share", &Json::is_number));
  calibration.waited_share = waited->get<double>();
  if (!(calibration.waited_share >= 0 && calibration.waited_share <= 1))
    return wrong("a share as \"waited_share\"");
  HEADROOM_TRY(const Json* rates, list(json, "rates"));
  for (const Json& item : *rates) {
    HEADROOM_TRY(const Operation operation, operation_of(item));
    HEADROOM_TRY(const DType dtype, dtype_of(item));
    HEADROOM_TRY(Grid grid, parse_grid(item, operation));
    calibration.rates.insert_or_assign({operation, dtype}, std::move(grid));
  }
  HEADROOM_TRY(calibration.steps, parse_steps(json, "steps"));
  HEADROOM_TRY(calibration.runs, parse_steps(json, "runs"));
  return calibration;
}

std::string format_calibrations(const Calibrations& calibrations) {
  Json items = Json::array();
  for (const Calibration& one : calibrations.all()) items.push_back(to_json(one));
  return Json{{"schema", schema}, {"calibrations", std::move(items)}}.dump() + "\n";
}

Result<Calibrations> parse_calibrations(std::string_view text_of_file) {
  HEADROOM_TRY(const Json json, parse_json(text_of_file));
  HEADROOM_TRY(const std::string found, text(json, "schema"));
  if (found != schema)
    return Error{Errc::unsupported,
                 fmt::format("expected a file of {}, found one of {}", schema, found), ""};
  HEADROOM_TRY(const Json* items, list(json, "calibrations"));
  Calibrations calibrations;
  for (const Json& item : *items) {
    HEADROOM_TRY(Calibration one, parse_calibration(item));
    calibrations.put(std::move(one));
  }
  return calibrations;
}

}  // namespace headroom::estimate
