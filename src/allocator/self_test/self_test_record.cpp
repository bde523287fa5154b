// SPDX-License-Identifier: Apache-2.0
#include "allocator/self_test/self_test_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/document.h"

namespace headroom::allocator {
namespace {

constexpr std::string_view schema = "headroom.virtual-memory/1";
constexpr std::size_t results_max = 64;

struct CostField {
  const char* name;
  std::uint32_t CallCosts::*field;
};
constexpr std::array<CostField, 9> cost_fields = {{{"reserve", &CallCosts::reserve},
                                                   {"create", &CallCosts::create},
                                                   {"destroy", &CallCosts::destroy},
                                                   {"map", &CallCosts::map},
                                                   {"allow_access", &CallCosts::allow_access},
                                                   {"unmap", &CallCosts::unmap},
                                                   {"allocate", &CallCosts::allocate},
                                                   {"release", &CallCosts::release},
                                                   {"wait", &CallCosts::wait}}};

// Reads members of one object and remembers the first one that is not as expected.
class Members {
 public:
  explicit Members(const Json& object) : object_(&object) {
    if (!object.is_object()) wrong_ = "an object";
  }
  void read(const char* name, bool& value) {
    if (const Json* found = find(name, &Json::is_boolean)) value = found->get<bool>();
  }
  // Reads a member that results of earlier versions do not have.
  void read_new(const char* name, bool& value) {
    if (object_->is_object() && object_->contains(name)) read(name, value);
  }
  void read_new(const char* name, std::optional<std::uint64_t>& value) {
    if (object_->is_object() && object_->contains(name)) read_number(name, value.emplace());
  }
  void read(const char* name, std::string& value) {
    if (const Json* found = find(name, &Json::is_string)) value = found->get<std::string>();
  }
  template <class Number>
  void read_number(const char* name, Number& value) {
    const Json* found = find(name, &Json::is_number_unsigned);
    if (found == nullptr) return;
    const auto number = found->get<std::uint64_t>();
    if (!std::in_range<Number>(number)) {
      wrong_ = fmt::format("a smaller number as \"{}\"", name);
      return;
    }
    value = static_cast<Number>(number);
  }
  // Returns nullptr if the member is missing or `is` is not true of it.
  const Json* find(const char* name, bool (Json::*is)() const noexcept) {
    if (!wrong_.empty()) return nullptr;
    const auto found = object_->find(name);
    if (found != object_->end() && ((*found).*is)()) return &*found;
    wrong_ = fmt::format("\"{}\" of the right kind", name);
    return nullptr;
  }
  Status finish() const {
    if (wrong_.empty()) return Done{};
    return Error{Errc::invalid, fmt::format("a self-test's result: expected {}", wrong_), ""};
  }

 private:
  const Json* object_;
  std::string wrong_;
};

Json to_json(const Capabilities& measured) {
  Json costs = Json::object();
  for (const CostField& cost : cost_fields) costs[cost.name] = measured.costs.*cost.field;
  return {{"destroy_returns_memory", measured.destroy_returns_memory},
          {"several_pages_per_handle", measured.several_pages_per_handle},
          {"access_from_start_only", measured.access_from_start_only},
          {"settle_ns", measured.settle_ns},
          {"max_mappings", measured.max_mappings},
          {"costs_ns", std::move(costs)}};
}

Json to_json(const SelfTestStep& step) {
  Json json = {{"name", step.name},
               {"expected", step.expected},
               {"found", step.found},
               {"passed", step.passed}};
  if (step.took_ns) json["took_ns"] = *step.took_ns;
  return json;
}

Result<Capabilities> parse_capabilities(const Json& json) {
  Capabilities measured;
  Members members(json);
  members.read("destroy_returns_memory", measured.destroy_returns_memory);
  members.read_new("several_pages_per_handle", measured.several_pages_per_handle);
  members.read("access_from_start_only", measured.access_from_start_only);
  members.read_number("settle_ns", measured.settle_ns);
  members.read_number("max_mappings", measured.max_mappings);
  const Json* costs = members.find("costs_ns", &Json::is_object);
  HEADROOM_CHECK(members.finish());
  Members cost_members(*costs);
  for (const CostField& cost : cost_fields)
    cost_members.read_number(cost.name, measured.costs.*cost.field);
  HEADROOM_CHECK(cost_members.finish());
  // A file with a larger value must not make every job wait.
  constexpr std::uint64_t settle_max_ns = 100'000'000;
  if (measured.settle_ns > settle_max_ns)
    return Error{Errc::invalid, fmt::format("a settle time of {} ns", measured.settle_ns), ""};
  return measured;
}

Result<SelfTestStep> parse_step(const Json& json) {
  SelfTestStep step;
  Members members(json);
  members.read("name", step.name);
  members.read("expected", step.expected);
  members.read("found", step.found);
  members.read("passed", step.passed);
  members.read_new("took_ns", step.took_ns);
  HEADROOM_CHECK(members.finish());
  return step;
}

Result<SelfTestResult> parse_result(const Json& json) {
  SelfTestResult result;
  Members members(json);
  members.read("gpu", result.key.gpu);
  members.read("driver", result.key.driver);
  members.read("runtime", result.key.runtime);
  members.read_number("test", result.test_version);
  members.read("when", result.when);
  const Json* report = members.find("report", &Json::is_object);
  HEADROOM_CHECK(members.finish());
  HEADROOM_TRY(result.report, parse_report(*report));
  return result;
}

}  // namespace

const SelfTestResult* SelfTestCache::find(const VirtualMemoryKey& key) const {
  for (const SelfTestResult& result : results_) {
    if (result.key == key && result.test_version == self_test_version) return &result;
  }
  return nullptr;
}

void SelfTestCache::put(SelfTestResult result) {
  std::erase_if(results_, [&](const SelfTestResult& old) { return old.key == result.key; });
  if (results_.size() >= results_max) results_.erase(results_.begin());
  results_.push_back(std::move(result));
}

Json to_json(const SelfTestReport& report) {
  Json steps = Json::array();
  for (const SelfTestStep& step : report.steps) steps.push_back(to_json(step));
  return {{"passed", report.passed},
          {"steps", std::move(steps)},
          {"measured", to_json(report.measured)}};
}

Result<SelfTestReport> parse_report(const Json& json) {
  SelfTestReport report;
  Members members(json);
  members.read("passed", report.passed);
  const Json* steps = members.find("steps", &Json::is_array);
  const Json* measured = members.find("measured", &Json::is_object);
  HEADROOM_CHECK(members.finish());
  for (const Json& step : *steps) {
    HEADROOM_TRY(report.steps.emplace_back(), parse_step(step));
    // A test that passed as a whole must have passed every step.
    if (report.passed && !report.steps.back().passed)
      return Error{Errc::invalid, "a self-test that passed, with a step that failed", ""};
  }
  HEADROOM_TRY(report.measured, parse_capabilities(*measured));
  report.measured.virtual_memory = report.passed;
  return report;
}

std::string format_cache(const SelfTestCache& cache) {
  Json results = Json::array();
  for (const SelfTestResult& result : cache.results())
    results.push_back({{"gpu", result.key.gpu},
                       {"driver", result.key.driver},
                       {"runtime", result.key.runtime},
                       {"test", result.test_version},
                       {"when", result.when},
                       {"report", to_json(result.report)}});
  const Json document = {{"schema", schema}, {"results", std::move(results)}};
  // Names that drivers report may not be UTF-8.
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<SelfTestCache> parse_cache(std::string_view text) {
  HEADROOM_TRY(const Json document, parse_json(text));
  Members members(document);
  std::string found_schema;
  members.read("schema", found_schema);
  const Json* results = members.find("results", &Json::is_array);
  HEADROOM_CHECK(members.finish());
  if (found_schema != schema)
    return Error{Errc::invalid, fmt::format("expected {}, found {}", schema, found_schema), ""};
  SelfTestCache cache;
  for (const Json& json : *results) {
    HEADROOM_TRY(SelfTestResult result, parse_result(json));
    cache.put(std::move(result));
  }
  return cache;
}

}  // namespace headroom::allocator
