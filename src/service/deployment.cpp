// SPDX-License-Identifier: Apache-2.0
#include "service/deployment.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/shell_quote.h"
#include "machine/process_handle.h"
#include "machine/tree/own_scope.h"
#include "service/ask.h"
#include "service/driver.h"
#include "service/make_service.h"

namespace headroom::service {
namespace {

std::string folder_of(const std::string& file) {
  const std::size_t slash = file.rfind('/');
  return slash == 0 ? "/" : file.substr(0, slash);
}

// What to type on the captured machine itself.
std::vector<std::string> without_root(const std::vector<std::string>& words) {
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--root") {
      ++i;  // And its folder.
    } else if (!words[i].starts_with("--root=")) {
      kept.push_back(words[i]);
    }
  }
  return kept;
}

// Everything that acts, made for one SERVICE.toml.
struct Hands {
  std::shared_ptr<machine::OwnCommands> own = std::make_shared<machine::OwnCommands>();
  std::unique_ptr<machine::Service> service;
  std::unique_ptr<Asker> asker;
  std::unique_ptr<ServiceChange> engine;
  std::unique_ptr<BootUnit> boot_unit;
};

class Deployment {
 public:
  Deployment(const DeployOrder& order, machine::WritableFiles& files)
      : order_(order),
        files_(files),
        places_(files, order.state, order.spec.service.name),
        // A scratch root is a machine that tests made: its GPU is looked at there, and its service
        // runs here.
        acts_(order.root == "/" || machine::WritableFiles::open(order.root).has_value()) {}

  Result<DeployDone> run();

 private:
  Result<std::optional<DeployDone>> finish_earlier();
  Result<DeployDone> resume(const deploy::Record& record);
  Result<DeployDone> begin();
  Result<DeployDone> judge_only(const plan::Change& change, std::optional<Bytes> predicted);
  Status make_hands(const deploy::ServiceSpec& spec, const std::string& file);
  deploy::Options options(const std::string& file) const;
  Workshop workshop(const deploy::ServiceSpec& spec, const GateQuestion& gate,
                    const plan::Change& change) const;
  Status look();
  void leave_session() const;
  static DeployDone mistake(Error error) { return {{}, {}, std::move(error)}; }

  const DeployOrder& order_;
  machine::WritableFiles& files_;
  Places places_;
  bool acts_;
  std::optional<machine::Descriptor> lock_;
  std::unique_ptr<MachineLook> machine_;
  std::unique_ptr<LogLook> logs_;
  Hands hands_;
};

Status Deployment::look() {
  HEADROOM_TRY(machine_, look_at_machine(order_.root, order_.surroundings));
  HEADROOM_TRY(logs_, LogLook::make(machine_->facts, machine_->tables));
  return Done{};
}

Status Deployment::make_hands(const deploy::ServiceSpec& spec, const std::string& file) {
  const std::string folder = folder_of(file);
  HEADROOM_TRY(hands_.service, make_service(spec.service, {folder, order_.environment,
                                                           places_.output_file(), hands_.own}));
  HEADROOM_TRY(hands_.engine, ServiceChange::open(files_, order_.state, spec.service.name));
  const std::string units = spec.service.user ? find_user_units(order_.environment) : "";
  if (!spec.service.user || !units.empty()) {
    hands_.boot_unit =
        BootUnit::make(files_, {spec.service.name, file, order_.program, order_.state, units});
  }
  return Done{};
}

deploy::Options Deployment::options(const std::string& file) const {
  deploy::Options options;
  options.apply = order_.apply && acts_;
  options.force = order_.force;
  options.spec_path = file;
  options.again = shell_line(order_.words);
  options.to_apply =
      acts_ ? options.again + " --apply"
            : "on that machine: " + shell_line(without_root(order_.words)) + " --apply";
  if (hands_.service) options.start_command = hands_.service->start_command();
  return options;
}

Workshop Deployment::workshop(const deploy::ServiceSpec& spec, const GateQuestion& gate,
                              const plan::Change& change) const {
  return {spec,
          *machine_,
          gate,
          change,
          *logs_,
          hands_.service.get(),
          hands_.asker.get(),
          hands_.engine.get(),
          nullptr,
          hands_.boot_unit.get(),
          order_.say,
          order_.before_each};
}

// What systemd started itself has no session.
void Deployment::leave_session() const {
  const std::string pid = std::to_string(machine::own_pid());
  const auto& variables = order_.environment;
  const bool is_unit =
      std::find(variables.begin(), variables.end(), "SYSTEMD_EXEC_PID=" + pid) != variables.end();
  if (!order_.leaves_session || is_unit) return;
  const std::string& service = order_.spec.service.name;
  const machine::Stay stay =
      machine::leave_session(fmt::format("headroom-deploy-{}-{}.scope", service, pid),
                             fmt::format("headroom deploy of {}", service));
  order_.say(stay.remark, stay.command);
}

Result<DeployDone> Deployment::run() {
  HEADROOM_TRY(auto finished, finish_earlier());
  if (finished) return *std::move(finished);
  if (order_.only_finish) {
    return Error{Errc::not_found,
                 fmt::format("expected an interrupted deployment of {}, found none",
                             order_.spec.service.name),
                 "headroom deploy --status"};
  }
  return begin();
}

// Whoever began it with --apply wanted it done or undone, so nobody is asked again.
Result<std::optional<DeployDone>> Deployment::finish_earlier() {
  if (!acts_) return std::optional<DeployDone>();
  HEADROOM_TRY(auto record, places_.read_record());
  if (!record || !deploy::needs_finishing(*record)) return std::optional<DeployDone>();
  HEADROOM_TRY(lock_, places_.lock());
  HEADROOM_TRY(record, places_.read_record());  // It may have been ended meanwhile.
  if (!record || !deploy::needs_finishing(*record)) return std::optional<DeployDone>();
  leave_session();
  HEADROOM_TRY(auto done, resume(*record));
  return std::optional(std::move(done));
}

Result<DeployDone> Deployment::resume(const deploy::Record& record) {
  HEADROOM_TRY(const std::string text, places_.read_service_file());
  HEADROOM_TRY(const auto spec, deploy::parse_service_spec(text, record.spec));
  HEADROOM_CHECK(make_hands(spec, record.spec));
  const std::string folder = folder_of(record.spec);
  HEADROOM_TRY(auto body, places_.read_body());
  if (!body) {
    HEADROOM_TRY(body, read_body(spec.smoke, folder));
  }
  HEADROOM_TRY(hands_.asker, Asker::make(spec, folder, order_.environment, hands_.own, body));
  HEADROOM_CHECK(look());
  HEADROOM_TRY(const auto found,
               hands_.engine->find(record.change_id, record.began.count() / 1000));
  const plan::Change change = hands_.engine->read(found.change_id).value_or(plan::Change{});
  const GateQuestion gate{spec, folder, order_.state, change, hands_.service.get()};
  Workshop shop = workshop(spec, gate, change);
  shop.places = &places_;
  deploy::Options options = this->options(record.spec);
  options.apply = true;
  Driver driver(std::move(shop), deploy::Deployer::resume(spec, options, record));
  HEADROOM_TRY(auto report, driver.run(found));
  return DeployDone{std::move(report), change, {}};
}

// For `--root` of another machine, and without --apply: nothing that acts is made.
Result<DeployDone> Deployment::judge_only(const plan::Change& change,
                                          std::optional<Bytes> predicted) {
  const std::string folder = folder_of(order_.file);
  const GateQuestion gate{order_.spec,          folder,   order_.state, change,
                          hands_.service.get(), predicted};
  Driver driver(workshop(order_.spec, gate, change),
                deploy::Deployer(order_.spec, options(order_.file)));
  HEADROOM_TRY(auto report, driver.run(deploy::event::Begin{}));
  if (order_.apply && report.outcome == deploy::Outcome::planned) {
    return Error{
        Errc::not_this_system,
        fmt::format("{} would pass the gate, but it is not this system, so nothing was done",
                    order_.root),
        shell_line(order_.words) + "   (without --apply), or --apply on that machine"};
  }
  return DeployDone{std::move(report), change, {}};
}

Result<DeployDone> Deployment::begin() {
  const std::string folder = folder_of(order_.file);
  const bool applies = order_.apply && acts_;
  HEADROOM_CHECK(look());
  auto change =
      read_change(order_.spec, folder, applies ? nullptr : &machine_->root.files, order_.words);
  if (!change) {
    if (change.error().code == Errc::no_permission) return change.error();
    return mistake(change.error());
  }
  const auto body = read_body(order_.spec.smoke, folder);
  if (!body) return mistake(body.error());
  const auto predicted = predict_device(order_.spec, folder);
  if (!predicted) return mistake(predicted.error());
  if (!applies) {
    // How much memory it takes now matters to the gate, on this machine.
    if (order_.root == "/") (void)make_hands(order_.spec, order_.file);
    return judge_only(*change, *predicted);
  }
  HEADROOM_CHECK(check_rights(*change, order_.words));
  HEADROOM_CHECK(make_hands(order_.spec, order_.file));
  auto asker = Asker::make(order_.spec, folder, order_.environment, hands_.own, *body);
  if (!asker) return asker.error();
  hands_.asker = *std::move(asker);
  HEADROOM_CHECK(places_.make());
  if (!lock_) {
    HEADROOM_TRY(lock_, places_.lock());
  }
  HEADROOM_CHECK(hands_.engine->check_ready());
  leave_session();
  HEADROOM_CHECK(places_.keep_service_file(order_.text));
  HEADROOM_CHECK(places_.keep_body(*body));
  const GateQuestion gate{order_.spec,          folder,    order_.state, *change,
                          hands_.service.get(), *predicted};
  Workshop shop = workshop(order_.spec, gate, *change);
  shop.places = &places_;
  Driver driver(std::move(shop), deploy::Deployer(order_.spec, options(order_.file)));
  HEADROOM_TRY(auto report, driver.run(deploy::event::Begin{}));
  return DeployDone{std::move(report), *change, {}};
}

}  // namespace

Result<DeployDone> deploy_service(const DeployOrder& order) {
  HEADROOM_TRY(auto files, machine::WritableFiles::open("/"));
  if (order.before_each) {
    files.before_each([&order](std::string_view operation, std::string_view /*path*/) {
      order.before_each(operation);
      return Status(Done{});
    });
  }
  return Deployment(order, files).run();
}

}  // namespace headroom::service
