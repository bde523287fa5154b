// SPDX-License-Identifier: Apache-2.0
#include "service/machine_look.h"

#include <algorithm>
#include <utility>

#include "estimate/device.h"
#include "estimate/plan.h"
#include "machine/user_files.h"
#include "machine/writable_files.h"
#include "probe/probe.h"
#include "run/job_file.h"
#include "service/service_bases.h"

namespace headroom::service {
namespace {

// Beside the originals and the records, what the service's output may take.
constexpr Bytes room_for_records{std::uint64_t{32} << 20U};

// Each file system is asked once for each path; that two paths share one does no harm.
std::vector<deploy::Room> read_rooms(const machine::WritableFiles& files,
                                     const GateQuestion& question) {
  deploy::Room records{question.state, std::nullopt, room_for_records};
  std::vector<deploy::Room> rooms;
  for (const plan::Step& step : question.change.steps) {
    const auto* edit = std::get_if<plan::FileEdit>(&step.action);
    if (edit == nullptr) continue;
    if (edit->before) records.needed += Bytes{edit->before->size()};
    rooms.push_back({edit->path, std::nullopt, Bytes{edit->after ? edit->after->size() : 0}});
  }
  rooms.push_back(std::move(records));
  for (deploy::Room& room : rooms) {
    if (const auto free = files.free_bytes(room.path)) room.free = Bytes{*free};
  }
  return rooms;
}

// Of plain commands, which run as this user. A service manager gives its services other users.
std::vector<deploy::DeviceAccess> read_devices(const MachineLook& machine,
                                               const deploy::ServiceSpec& spec) {
  std::vector<deploy::DeviceAccess> devices;
  if (!spec.expect.gpu || spec.service.kind != deploy::ServiceKind::commands) return devices;
  std::vector<std::string> names = {"/dev/kfd"};
  const auto nodes = machine.root.files.list("/dev/dri");
  for (const std::string& node : nodes ? *nodes : std::vector<std::string>{}) {
    if (node.starts_with("renderD")) names.push_back("/dev/dri/" + node);
  }
  for (const std::string& name : names) {
    if (!machine.root.files.exists(name)) continue;
    const auto may = machine.root.files.may_use(name);
    if (!may) {
      devices.push_back({name, std::nullopt, may.error().message});
    } else {
      devices.push_back({name, *may, *may ? "" : "this user may not open " + name});
    }
  }
  return devices;
}

// What a container is to be given and this system does not have: then it does not start. Another
// machine's folder need not hold all of its /dev, and systemd passes over such a line.
std::vector<std::string> find_missing_devices(const MachineLook& machine,
                                              const GateQuestion& question,
                                              const std::optional<deploy::Settings>& candidate) {
  std::vector<std::string> given, missing;
  const auto kind = question.spec.service.kind;
  const bool is_container =
      kind == deploy::ServiceKind::quadlet || kind == deploy::ServiceKind::compose;
  if (!is_container || !machine.root.files.is_real()) return missing;
  for (const deploy::FileChange& change : question.spec.changes) {
    if (change.set)
      given.insert(given.end(), change.set->devices.begin(), change.set->devices.end());
  }
  if (candidate) given.insert(given.end(), candidate->devices.begin(), candidate->devices.end());
  for (const std::string& device : given) {
    const std::string path = device.substr(0, device.find(':'));
    const bool known = std::find(missing.begin(), missing.end(), path) != missing.end();
    if (path.starts_with("/dev/") && !known && !machine.root.files.exists(path))
      missing.push_back(path);
  }
  return missing;
}

// The service of a quadlet or a compose file, with what it extends.
std::optional<deploy::DescribedService> describe_service(const std::string& path,
                                                         const std::string& text,
                                                         const deploy::ServiceName& name) {
  auto services = deploy::read_service_file(path, text);
  if (!services) return std::nullopt;
  std::erase_if(*services, [&](const deploy::DescribedService& one) {
    return one.kind == deploy::FileKind::compose && one.name != name.service;
  });
  build_on_files(path, *services);
  if (services->size() != 1) return std::nullopt;
  return std::move(services->front());
}

void take_candidate(const deploy::DescribedService& service, deploy::GateInput& input) {
  input.candidate = service.settings;
  input.unread_bases.clear();
  for (const deploy::Elsewhere& one : service.elsewhere) {
    if (one.is_base()) input.unread_bases.push_back(deploy::describe(one));
  }
}

// What the compose file says as it is, and then the changed files; the last one that says
// something.
void read_candidate(const GateQuestion& question, deploy::GateInput& input) {
  const deploy::ServiceName& name = question.spec.service;
  if (name.kind == deploy::ServiceKind::compose) {
    const std::string path =
        name.file.starts_with('/') ? name.file : question.folder + "/" + name.file;
    const auto text = machine::read_file(path, std::size_t{1} << 20U);
    const auto service = text ? describe_service(path, *text, name) : std::nullopt;
    if (service) take_candidate(*service, input);
  }
  for (const plan::Step& step : question.change.steps) {
    const auto* edit = std::get_if<plan::FileEdit>(&step.action);
    if (edit == nullptr || !edit->after) continue;
    const auto kind = deploy::kind_of_file(edit->path, name.kind);
    if (!kind) continue;
    if (const auto service = describe_service(edit->path, *edit->after, name)) {
      take_candidate(*service, input);
      continue;
    }
    auto settings = deploy::read_settings({*kind, edit->path, name.service, ""}, *edit->after);
    if (settings) input.candidate = *std::move(settings);
  }
}

}  // namespace

Result<std::unique_ptr<MachineLook>> look_at_machine(const std::string& root,
                                                     const probe::Surroundings& surroundings) {
  HEADROOM_TRY(auto tables, knowledge::load_gpu_tables());
  HEADROOM_TRY(auto opened, machine::open_root(root));
  std::unique_ptr<MachineLook> machine(
      new MachineLook{std::move(tables), std::move(opened), {}, {}});
  HEADROOM_TRY(machine->facts, probe::probe(machine->root.files, machine->tables, surroundings));
  machine->diagnosis = findings::diagnose({machine->facts, machine->tables});
  return machine;
}

Result<std::optional<Bytes>> predict_device(const deploy::ServiceSpec& spec,
                                            const std::string& folder) {
  if (!spec.expect.job) return std::optional<Bytes>();
  const std::string& job = *spec.expect.job;
  HEADROOM_TRY(const auto loaded, run::load_job(job.starts_with('/') ? job : folder + "/" + job));
  HEADROOM_TRY(const auto device, estimate::find_device(loaded.job));
  HEADROOM_TRY(const auto plan, estimate::make_plan(loaded.job, loaded.model, device));
  return std::optional(Bytes{plan.device_bytes});
}

Result<deploy::Gate> judge_machine(const MachineLook& machine, const GateQuestion& question) {
  deploy::GateInput input{question.spec,
                          machine.facts,
                          machine.diagnosis,
                          machine.tables,
                          {},
                          {},
                          {},
                          {},
                          {},
                          {},
                          {},
                          {},
                          {}};
  read_candidate(question, input);
  input.predicted_device = question.predicted_device;
  input.missing_devices = find_missing_devices(machine, question, input.candidate);
  HEADROOM_TRY(const auto files, machine::WritableFiles::open("/"));
  input.rooms = read_rooms(files, question);
  input.devices = read_devices(machine, question.spec);
  if (question.service != nullptr) {
    const machine::ServiceSample now = question.service->sample();
    input.present_use = now.memory;
    input.memory_limit = now.memory_limit;
  }
  return deploy::judge_gate(input);
}

}  // namespace headroom::service
