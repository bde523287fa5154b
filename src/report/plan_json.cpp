// SPDX-License-Identifier: Apache-2.0
#include "report/plan_json.h"

#include "base/document.h"
#include "report/plan_advice.h"

namespace headroom::report {
namespace {

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace

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
  if (change.norm)
    json["compute.norm"] = *change.norm == estimate::NormKernel::fused ? "fused" : "eager";
  if (change.dtype) json["compute.dtype"] = to_string(*change.dtype);
  if (change.foreach) json["optimizer.foreach"] = *change.foreach;
  if (change.offload) json["optimizer.offload"] = *change.offload;
  if (change.optimizer) json["optimizer.kind"] = to_string(*change.optimizer);
  if (change.method) json["method.kind"] = to_string(*change.method);
  if (change.base) json["method.base"] = to_string(*change.base);
  if (change.residual) json["compute.residual"] = to_string(*change.residual);
  if (change.embeddings) json["compute.embeddings"] = to_string(*change.embeddings);
  if (change.autocast) json["compute.autocast"] = *change.autocast;
  if (change.rank) json["method.rank"] = *change.rank;
  if (change.sequence) json["batch.sequence"] = *change.sequence;
  return json;
}

Json to_json(const estimate::Advice& advice) {
  return {{"change", to_json(advice.change)},
          {"allocated_bytes", advice.allocated_bytes},
          {"device_bytes", advice.device_bytes},
          {"relative_speed", advice.relative_speed},
          {"changes_result", changes_result(advice.change)},
          {"costs", costs_of(advice)}};
}

Json to_json(const estimate::LargestFit& largest) {
  const bool batch = largest.quantity == estimate::Quantity::batch;
  return {{"quantity", batch ? "batch" : "sequence"},
          {"value", largest.value},
          {"allocated_bytes", largest.allocated_bytes},
          {"device_bytes", largest.device_bytes}};
}

// Of the phases that the job has.
static Json to_json(const estimate::ByPhase& phases) {
  Json json = Json::object();
  for (std::size_t i = 0; i < phases.size(); ++i)
    if (phases[i] > 0) json[std::string(to_string(static_cast<estimate::Phase>(i)))] = phases[i];
  return json;
}

static Json to_json(const estimate::HostPeak& host) {
  return {{"allocated_bytes", host.bytes}, {"components", to_json(host.components)}};
}

static Json to_json(const std::vector<estimate::StagePlan>& stages) {
  Json json = Json::array();
  for (const estimate::StagePlan& stage : stages) {
    Json one = {{"rank", stage.part.stage},
                {"first_layer", stage.part.first_layer},
                {"layers", stage.part.layers()},
                {"allocated_bytes", stage.allocated_bytes},
                {"reserved_bytes", stage.reserved_bytes},
                {"device_bytes", stage.device_bytes},
                {"fits", or_null(stage.fits)},
                {"at", to_string(stage.at)},
                {"components", to_json(stage.components)}};
    if (stage.host.bytes > 0) one["host"] = to_json(stage.host);
    json.push_back(std::move(one));
  }
  return json;
}

Json to_json(const estimate::Plan& plan) {
  Json largest = Json::array();
  for (const auto& tensor : plan.largest) largest.push_back(to_json(tensor));
  Json advice = Json::array();
  for (const auto& line : plan.advice) advice.push_back(to_json(line));
  Json cards = Json::array();
  for (const auto& card : plan.cards) {
    cards.push_back({{"name", card.name},
                     {"capacity_bytes", card.capacity_bytes},
                     {"device_bytes", card.device_bytes}});
  }
  Json missing = Json::object();
  if (!plan.largest_fit)
    missing["/largest_fit"] = plan.capacity_bytes ? "not asked for: --largest batch or sequence"
                                                  : "no capacity was given";
  if (!plan.fits) missing["/fits"] = "no capacity was given: device.capacity or device.gpu";
  if (!plan.capacity_bytes)
    missing["/capacity_bytes"] = "no capacity was given: device.capacity or device.gpu";
  if (!plan.first_failure)
    missing["/first_failure"] =
        plan.host_fits ? "nothing failed"
                       : "what does not fit is host memory, where the order is not followed";
  Json json = {
      {"schema", "headroom.plan/1"},
      {"fits", or_null(plan.fits)},
      {"verdict", to_string(plan.verdict)},
      {"allocated_bytes", plan.allocated_bytes},
      {"reserved_bytes", plan.reserved_bytes},
      {"device_bytes", plan.device_bytes},
      {"context_bytes", plan.context_bytes},
      {"capacity_bytes", or_null(plan.capacity_bytes)},
      {"at", to_string(plan.at)},
      {"phases", to_json(plan.phases)},
      {"components", to_json(plan.components)},
      {"parameters", {{"total", plan.parameters}, {"trainable", plan.trainable_parameters}}},
      {"batch", {{"micro", *plan.job.batch.micro}, {"accumulate", *plan.job.batch.accumulate}}},
      {"largest", largest},
      {"first_failure", plan.first_failure ? to_json(*plan.first_failure) : Json(nullptr)},
      {"advice", advice},
      {"largest_fit", plan.largest_fit ? to_json(*plan.largest_fit) : Json(nullptr)},
      {"cards", cards},
      {"notes", plan.notes},
      {"missing", missing}};
  if (plan.host.bytes > 0) json["host"] = to_json(plan.host);
  if (!plan.stages.empty()) json["stages"] = to_json(plan.stages);
  return json;
}

}  // namespace headroom::report
