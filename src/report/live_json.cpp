// SPDX-License-Identifier: Apache-2.0
#include "report/live_json.h"

#include <nlohmann/json.hpp>

#include "facts/free_now.h"
#include "report/cause_text.h"
#include "report/ladder_text.h"
#include "report/machine_summary.h"
#include "report/utc_time.h"

namespace headroom::report {
namespace {

using Ordered = nlohmann::ordered_json;
using facts::Fact;

Ordered bytes(const std::optional<Bytes>& amount) {
  return amount ? Ordered(amount->value) : Ordered(nullptr);
}

Ordered bytes(const Fact<Bytes>& amount) {
  return bytes(amount.optional());
}

Ordered text(const std::string& word) {
  return word.empty() ? Ordered(nullptr) : Ordered(word);
}

Ordered divided(const Fact<std::uint64_t>& value, double by) {
  return value ? Ordered(static_cast<double>(*value) / by) : Ordered(nullptr);
}

Ordered whole(const Fact<std::uint64_t>& value) {
  return value ? Ordered(*value) : Ordered(nullptr);
}

Ordered sensors_json(const facts::GpuSensors& sensors) {
  return {{"busy", divided(sensors.busy_percent, 100)},
          {"memory_busy", divided(sensors.memory_busy_percent, 100)},
          {"edge_celsius", divided(sensors.edge_millicelsius, 1e3)},
          {"junction_celsius", divided(sensors.junction_millicelsius, 1e3)},
          {"memory_celsius", divided(sensors.memory_millicelsius, 1e3)},
          {"power_watts", divided(sensors.power_microwatts, 1e6)},
          {"core_hertz", whole(sensors.core_hertz)},
          {"memory_hertz", whole(sensors.memory_hertz)},
          {"fan_rpm", whole(sensors.fan_rpm)}};
}

Ordered ladder_json(const facts::Gpu& gpu) {
  const bool integrated = gpu.integrated && *gpu.integrated;
  Ordered rungs = Ordered::array();
  for (const facts::Rung& rung : gpu.ladder.rungs) {
    if (!rung.applies || !rung.limit) continue;
    rungs.push_back({{"rung", rung.name},
                     {"meaning", rung_meaning(rung.name, integrated)},
                     {"kind", to_string(rung.kind)},
                     {"limit_bytes", bytes(rung.limit)},
                     {"used_bytes", bytes(rung.used)},
                     {"binding", rung.binding}});
  }
  return rungs;
}

Ordered holder_json(const facts::Holder& holder, const std::string& gpu,
                    const live::Moment& moment) {
  Ordered engines = nullptr;
  if (const auto of_process = moment.engines.find(holder.pid); of_process != moment.engines.end()) {
    const auto share = of_process->second.find(gpu);
    if (share != of_process->second.end()) engines = share->second;
  }
  return {{"pid", holder.pid},
          {"command", text(holder.command)},
          {"user", text(holder.user)},
          {"container", text(holder.container)},
          {"unit", text(holder.unit)},
          {"whereabouts", to_string(holder.whereabouts)},
          {"vram_bytes", bytes(holder.vram)},
          {"gtt_bytes", bytes(holder.gtt)},
          {"engines", engines}};
}

Ordered gpu_json(const facts::Gpu& gpu, const facts::GpuSensors& sensors,
                 const live::Moment& moment) {
  Ordered object{{"pci", gpu.pci},
                 {"name", gpu.name},
                 {"gfx", gpu.gfx ? Ordered(*gpu.gfx) : Ordered(nullptr)},
                 {"integrated", gpu.integrated ? Ordered(*gpu.integrated) : Ordered(nullptr)},
                 {"asleep", gpu.asleep()}};
  const facts::Rung* binding = gpu.ladder.binding();
  object["limit_bytes"] = binding == nullptr ? Ordered(nullptr) : bytes(binding->limit);
  object["used_bytes"] = binding == nullptr ? Ordered(nullptr) : bytes(binding->used);
  object["limit_rung"] = binding == nullptr ? Ordered(nullptr) : Ordered(binding->name);
  const auto free = facts::find_free_now(gpu.ladder);
  object["free_bytes"] = free ? Ordered(free->bytes.value) : Ordered(nullptr);
  object["free_rung"] = free ? Ordered(free->rung) : Ordered(nullptr);
  object["gone_bytes"] = bytes(gpu.accounting.gone);
  object["unattributed_bytes"] = bytes(gpu.accounting.unattributed);
  object["sensors"] = sensors_json(sensors);
  object["ladder"] = ladder_json(gpu);
  object["holders"] = Ordered::array();
  for (const facts::Holder& holder : gpu.holders) {
    object["holders"].push_back(holder_json(holder, gpu.pci, moment));
  }
  return object;
}

Ordered findings_json(const live::Moment& moment) {
  Ordered list = Ordered::array();
  for (const findings::Finding& finding : moment.diagnosis.findings) {
    list.push_back({{"id", finding.id},
                    {"severity", to_string(finding.severity)},
                    {"gpu", text(finding.gpu)},
                    {"title", finding.title},
                    {"next", for_root(finding.next.text(), moment.root)}});
  }
  return list;
}

Ordered deployments_json(const std::vector<deploy::Record>& records) {
  Ordered list = Ordered::array();
  for (const deploy::Record& record : records) {
    list.push_back(
        {{"service", record.name},
         {"stage", to_string(record.stage)},
         {"outcome", record.outcome ? Ordered(to_string(*record.outcome)) : Ordered(nullptr)},
         {"cause", record.cause ? Ordered(record.cause->id) : Ordered(nullptr)},
         {"ended", record.ended ? Ordered(utc_time(*record.ended)) : Ordered(nullptr)}});
  }
  return list;
}

}  // namespace

Ordered live_json(const live::Moment& moment) {
  Ordered document{{"schema", "headroom.live/1"},
                   {"time", utc_time(moment.since_1970)},
                   {"look_s", static_cast<double>(moment.look.count()) / 1e6},
                   {"verdict", to_string(moment.diagnosis.verdict)},
                   {"summary", machine_summary(moment.facts, moment.diagnosis)},
                   {"findings", findings_json(moment)},
                   {"gpus", Ordered::array()}};
  for (std::size_t index = 0; index < moment.facts.gpus.size(); ++index) {
    const bool read = index < moment.sensors.size();
    document["gpus"].push_back(gpu_json(
        moment.facts.gpus[index], read ? moment.sensors[index] : facts::GpuSensors{}, moment));
  }
  document["runs"] = moment.runs.any() ? Ordered{{"completed", moment.runs.completed},
                                                 {"out_of_memory", moment.runs.out_of_memory},
                                                 {"failed", moment.runs.failed}}
                                       : Ordered(nullptr);
  document["deployments"] = deployments_json(moment.deployments);
  return document;
}

}  // namespace headroom::report
