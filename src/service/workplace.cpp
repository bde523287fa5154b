// SPDX-License-Identifier: Apache-2.0
#include "service/workplace.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/shell_quote.h"
#include "machine/process_handle.h"
#include "machine/tree/own_scope.h"
#include "service/make_service.h"

namespace headroom::service {
namespace {

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

}  // namespace

std::string folder_of(const std::string& file) {
  const std::size_t slash = file.rfind('/');
  return slash == 0 ? "/" : file.substr(0, slash);
}

Workplace::Workplace(const DeployOrder& order, machine::WritableFiles& files)
    : order_(order),
      files_(files),
      places_(files, order.state, order.spec.service.name),
      // A scratch root is a machine that tests made: its GPU is looked at there, and its service
      // runs here.
      acts_(order.root == "/" || machine::WritableFiles::open(order.root).has_value()) {}

Status Workplace::look() {
  HEADROOM_TRY(machine_, look_at_machine(order_.root, order_.surroundings));
  HEADROOM_TRY(logs_, LogLook::make(machine_->facts, machine_->tables));
  return Done{};
}

Status Workplace::make_hands(const deploy::ServiceSpec& spec, const std::string& file) {
  HEADROOM_TRY(service_, make_service(spec.service, {folder_of(file), order_.environment,
                                                     places_.output_file(), own_}));
  HEADROOM_TRY(engine_, ServiceChange::open(files_, order_.state, spec.service.name));
  const std::string units = spec.service.user ? find_user_units(order_.environment) : "";
  if (!spec.service.user || !units.empty()) {
    boot_unit_ =
        BootUnit::make(files_, {spec.service.name, file, order_.program, order_.state, units});
  }
  return Done{};
}

Result<std::unique_ptr<Asker>> Workplace::make_asker(const deploy::ServiceSpec& spec,
                                                     const std::string& folder,
                                                     const std::optional<std::string>& body) const {
  return Asker::make(spec, folder, order_.environment, own_, body);
}

Status Workplace::take_lock() {
  if (lock_) return Done{};
  HEADROOM_CHECK(places_.make());
  HEADROOM_TRY(lock_, places_.lock());
  return Done{};
}

Status Workplace::begin_acting(const std::optional<std::string>& body) {
  HEADROOM_CHECK(engine_->check_ready());
  leave_session();
  HEADROOM_CHECK(places_.keep_service_file(order_.text));
  return places_.keep_body(body);
}

deploy::Options Workplace::options(const std::string& file) const {
  deploy::Options options;
  options.apply = order_.apply && acts_;
  options.force = order_.force;
  options.spec_path = file;
  options.again = shell_line(order_.words);
  options.to_apply =
      acts_ ? options.again + " --apply"
            : "on that machine: " + shell_line(without_root(order_.words)) + " --apply";
  if (service_) options.start_command = service_->start_command();
  return options;
}

Workshop Workplace::workshop(const deploy::ServiceSpec& spec, const GateQuestion& gate,
                             const plan::Change& change) const {
  Workshop shop{spec, *machine_, gate, change, *logs_};
  shop.service = service_.get();
  shop.change_engine = engine_.get();
  shop.boot_unit = boot_unit_.get();
  shop.say = order_.say;
  shop.before_each = order_.before_each;
  return shop;
}

// What systemd started itself has no session.
void Workplace::leave_session() const {
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

// Whoever began it with --apply wanted it done or undone, so nobody is asked again.
Result<std::optional<DeployDone>> Workplace::finish_earlier() {
  if (!acts_) return std::optional<DeployDone>();
  HEADROOM_TRY(auto record, places_.read_record());
  if (!record || !deploy::needs_finishing(*record)) return std::optional<DeployDone>();
  HEADROOM_TRY(lock_, places_.lock());
  HEADROOM_TRY(record, places_.read_record());  // It may have been ended meanwhile.
  if (!record || !deploy::needs_finishing(*record)) return std::optional<DeployDone>();
  leave_session();
  HEADROOM_TRY(auto done, resume(*record, nullptr));
  return std::optional(std::move(done));
}

Result<DeployDone> Workplace::resume(const deploy::Record& record, machine::HeldSignals* signals) {
  HEADROOM_TRY(const std::string text, places_.read_service_file());
  HEADROOM_TRY(const auto spec, deploy::parse_service_spec(text, record.spec));
  HEADROOM_CHECK(make_hands(spec, record.spec));
  const std::string folder = folder_of(record.spec);
  HEADROOM_TRY(auto body, places_.read_body());
  if (!body) {
    HEADROOM_TRY(body, read_body(spec.smoke, folder));
  }
  HEADROOM_TRY(const auto asker, make_asker(spec, folder, body));
  HEADROOM_CHECK(look());
  HEADROOM_TRY(const auto found, engine_->find(record.change_id, record.began.count() / 1000));
  const plan::Change change = engine_->read(found.change_id).value_or(plan::Change{});
  const GateQuestion gate{spec, folder, order_.state, change, service_.get()};
  Workshop shop = workshop(spec, gate, change);
  shop.asker = asker.get();
  shop.places = &places_;
  shop.signals = signals;
  shop.files_postmortem = signals == nullptr;
  deploy::Options options = this->options(record.spec);
  options.apply = true;
  Driver driver(std::move(shop), deploy::Deployer::resume(spec, options, record));
  HEADROOM_TRY(auto report, driver.run(found));
  return DeployDone{std::move(report), change, {}};
}

void watch_files(machine::WritableFiles& files, const DeployOrder& order) {
  if (!order.before_each) return;
  files.before_each([&order](std::string_view operation, std::string_view /*path*/) {
    order.before_each(operation);
    return Status(Done{});
  });
}

}  // namespace headroom::service
