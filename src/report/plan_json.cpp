// SPDX-License-Identifier: Apache-2.0
#include "report/plan_json.h"

namespace headroom::report {
namespace {

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace

Json to_json(const allocator::ByComponent& components) {
  Json json = Json::object();
  for (const auto component : allocator::all_components) {
    json[std::string(to_string(component))] = components[component];
  }
  return json;
}

Json to_json(const estimate::TensorRecord& tensor) {
  return {{"tensor", tensor.name},
          {"bytes", tensor.meta.bytes()},
          {"shape", tensor.meta.shape},
          {"dtype", to_string(tensor.meta.element)}};
}

Json to_json(const estimate::Change& change) {
  Json json = Json::object();
  if (change.micro) json["batch.micro"] = *change.micro;
  if (change.accumulate) json["batch.accumulate"] = *change.accumulate;
  if (change.checkpointing) json["compute.checkpointing"] = to_string(*change.checkpointing);
  if (change.attention) json["compute.attention"] = to_string(*change.attention);
  if (change.loss) json["compute.loss"] = to_string(*change.loss);
  return json;
}

Json to_json(const estimate::Plan& plan) {
  Json largest = Json::array();
  for (const auto& tensor : plan.largest) largest.push_back(to_json(tensor));
  Json advice = Json::array();
  for (const auto& line : plan.advice) {
    advice.push_back({{"change", to_json(line.change)},
                      {"allocated_bytes", line.allocated_bytes},
                      {"relative_speed", line.relative_speed}});
  }
  Json missing = Json::object();
  if (!plan.fits) missing["/fits"] = "no capacity was given: device.capacity or device.gpu";
  if (!plan.capacity_bytes)
    missing["/capacity_bytes"] = "no capacity was given: device.capacity or device.gpu";
  if (!plan.first_failure) missing["/first_failure"] = "nothing failed";
  return {{"schema", "headroom.plan/1"},
          {"fits", or_null(plan.fits)},
          {"allocated_bytes", plan.allocated_bytes},
          {"reserved_bytes", plan.reserved_bytes},
          {"device_bytes", plan.device_bytes},
          {"capacity_bytes", or_null(plan.capacity_bytes)},
          {"at", to_string(plan.at)},
          {"components", to_json(plan.components)},
          {"parameters", {{"total", plan.parameters}, {"trainable", plan.trainable_parameters}}},
          {"batch", {{"micro", *plan.job.batch.micro}, {"accumulate", *plan.job.batch.accumulate}}},
          {"largest", largest},
          {"first_failure", plan.first_failure ? to_json(*plan.first_failure) : Json(nullptr)},
          {"advice", advice},
          {"missing", missing}};
}

}  // namespace headroom::report
