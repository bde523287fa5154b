// SPDX-License-Identifier: Apache-2.0
#include "cli/machine_watch.h"

#include "cli/past_runs.h"
#include "cli/surroundings.h"
#include "history/commands.h"
#include "machine/clock.h"
#include "machine/services/held_signals.h"
#include "probe/probe.h"
#include "probe/read_gpu_sensors.h"
#include "probe/read_gpu_work.h"
#include "service/places.h"

namespace headroom::cli {

Result<std::unique_ptr<MachineWatch>> MachineWatch::open(const std::string& root,
                                                         const Context& context) {
  HEADROOM_TRY(auto tables, knowledge::load_gpu_tables());
  HEADROOM_TRY(auto opened, machine::open_root(root));
  std::unique_ptr<MachineWatch> watch(new MachineWatch(std::move(tables), std::move(opened), root));
  const bool is_real = watch->root_.files.is_real();
  watch->surroundings_ = make_surroundings(context, "", is_real);
  if (is_real) {
    watch->history_ = history_path(context);
    watch->deployments_ = deployments_folder(context);
  }
  return watch;
}

Result<live::Moment> MachineWatch::look() {
  const std::uint64_t began = machine::monotonic_ns();
  live::Moment moment;
  moment.since_1970 = std::chrono::milliseconds(machine::time_of_day_ms());
  moment.root = name_;
  auto facts = probe::probe(root_.files, tables_, surroundings_);
  if (!facts) {
    // A folder that was made anew is another one under the same name.
    if (auto again = machine::open_root(name_)) root_ = *std::move(again);
    return std::move(facts).error();
  }
  moment.facts = *std::move(facts);
  moment.diagnosis = findings::diagnose({moment.facts, tables_});
  for (const facts::Gpu& gpu : moment.facts.gpus) {
    moment.sensors.push_back(probe::read_gpu_sensors(root_.files, gpu));
  }
  add_engines(moment);
  add_past(moment);
  moment.look = std::chrono::microseconds((machine::monotonic_ns() - began) / 1000);
  return moment;
}

void MachineWatch::add_engines(live::Moment& moment) {
  live::EngineTimes::ByProcess clients;
  for (const facts::Gpu& gpu : moment.facts.gpus) {
    for (const facts::Holder& holder : gpu.holders) {
      if (!holder.visible || clients.contains(holder.pid)) continue;
      clients[holder.pid] = probe::read_gpu_work(root_.files, {holder.pid}, {}).clients;
    }
  }
  moment.engines = times_.look(clients, std::chrono::nanoseconds(machine::monotonic_ns()));
}

void MachineWatch::add_past(live::Moment& moment) const {
  if (!history_.empty()) {
    const auto commands = history::read_commands(history_);
    if (commands) moment.runs = live::count_runs(commands->attempts);
  }
  if (deployments_.empty()) return;
  auto files = machine::WritableFiles::open("/");
  if (!files) return;
  const auto names = service::deployed_services(*files, deployments_);
  for (const std::string& name : names ? *names : std::vector<std::string>{}) {
    const auto record = service::Places(*files, deployments_, name).read_record();
    if (record && *record) moment.deployments.push_back(**record);
  }
}

}  // namespace headroom::cli
