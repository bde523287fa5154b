// SPDX-License-Identifier: Apache-2.0
#include "machine/services/units.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>

#include "machine/clock.h"
#include "machine/os_error.h"

namespace headroom::machine {
namespace {

constexpr const char* destination = "org.freedesktop.systemd1";
constexpr const char* manager_path = "/org/freedesktop/systemd1";
constexpr const char* manager = "org.freedesktop.systemd1.Manager";
constexpr const char* unit_interface = "org.freedesktop.systemd1.Unit";
constexpr const char* service_interface = "org.freedesktop.systemd1.Service";
constexpr std::uint64_t manager_patience_us = 20'000'000;
constexpr int reaches_max = 4;  // Before a manager that does not answer counts as gone.
constexpr std::uint64_t reach_again_ms = 250;

// A reply that is let go of with its scope.
class Reply {
 public:
  explicit Reply(const Libsystemd& systemd) : systemd_(systemd) {}
  ~Reply() {
    if (message_ != nullptr) systemd_.message_unref(message_);
  }
  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;
  void** place() { return &message_; }
  void* get() const { return message_; }

 private:
  const Libsystemd& systemd_;
  void* message_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<UnitBus>> UnitBus::open(bool user) {
  HEADROOM_TRY(const Libsystemd systemd, Libsystemd::load());
  void* bus = nullptr;
  const int opened = systemd.open_manager(user, &bus);
  if (opened >= 0) return std::unique_ptr<UnitBus>(new UnitBus(systemd, bus));
  Error error = os_error(-opened, user ? "speaking to the user's service manager"
                                       : "speaking to the system's service manager");
  error.code = Errc::not_found;
  error.next = user ? "systemctl --user status   (says whether it runs; over ssh: loginctl "
                      "enable-linger)"
                    : "systemctl status   (says whether it runs)";
  return error;
}

UnitBus::~UnitBus() {
  systemd_.flush_close_unref(bus_);
}

Error UnitBus::failed(int number, const Libsystemd::BusError& error,
                      const std::string& doing) const {
  Error it = os_error(-number, doing);
  const std::string name = error.name == nullptr ? "" : error.name;
  if (error.message != nullptr) it.message = doing + ": " + error.message;
  if (name.ends_with(".AccessDenied") || name.ends_with(".InteractiveAuthorizationRequired"))
    it.code = Errc::no_permission;
  if (name.ends_with(".NoSuchUnit")) it.code = Errc::not_found;
  return it;
}

// Methods that take a unit and one more word, and answer with a job.
Status UnitBus::call(const char* member, const std::string& unit, const char* mode) {
  Libsystemd::BusError error;
  const int done = systemd_.call_method(bus_, destination, manager_path, manager, member, &error,
                                        nullptr, "ss", unit.c_str(), mode);
  if (done >= 0) return Done{};
  Error it = failed(done, error, fmt::format("{} {}", member, unit));
  systemd_.error_free(&error);
  return it;
}

Status UnitBus::start(const std::string& unit) {
  return call("StartUnit", unit, "replace");
}

Status UnitBus::stop(const std::string& unit) {
  return call("StopUnit", unit, "replace");
}

Status UnitBus::reload() {
  Libsystemd::BusError error;
  const int done =
      systemd_.call_method(bus_, destination, manager_path, manager, "Reload", &error, nullptr, "");
  if (done >= 0) return Done{};
  Error it = failed(done, error, "having systemd read its units");
  systemd_.error_free(&error);
  return it;
}

Status UnitBus::kill(const std::string& unit, int signal) {
  Libsystemd::BusError error;
  const int done = systemd_.call_method(bus_, destination, manager_path, manager, "KillUnit",
                                        &error, nullptr, "ssi", unit.c_str(), "all", signal);
  if (done >= 0) return Done{};
  Error it = failed(done, error, "KillUnit " + unit);
  systemd_.error_free(&error);
  return it;
}

Status UnitBus::forget_failure(const std::string& unit) {
  Libsystemd::BusError error;
  const int done = systemd_.call_method(bus_, destination, manager_path, manager, "ResetFailedUnit",
                                        &error, nullptr, "s", unit.c_str());
  if (done >= 0) return Done{};
  Error it = failed(done, error, "ResetFailedUnit " + unit);
  systemd_.error_free(&error);
  return it;
}

std::string UnitBus::text(const std::string& path, const char* interface, const char* name) {
  Libsystemd::BusError error;
  char* value = nullptr;
  const int got = systemd_.get_property_string(bus_, destination, path.c_str(), interface, name,
                                               &error, &value);
  systemd_.error_free(&error);
  if (got < 0 || value == nullptr) return "";
  std::string found = value;
  std::free(value);  // NOLINT: allocated by malloc(3), and ours.
  return found;
}

template <class T>
T UnitBus::number(const std::string& path, const char* name, char type) {
  Libsystemd::BusError error;
  T value{};
  const int got = systemd_.get_property_trivial(bus_, destination, path.c_str(), service_interface,
                                                name, &error, type, &value);
  systemd_.error_free(&error);
  return got < 0 ? T{} : value;
}

// LoadUnit and not GetUnit: of a unit that does not run, systemd may have forgotten all but its
// file.
Result<UnitState> UnitBus::state(const std::string& unit) {
  Libsystemd::BusError error;
  Reply reply(systemd_);
  int got = systemd_.call_method(bus_, destination, manager_path, manager, "LoadUnit", &error,
                                 reply.place(), "s", unit.c_str());
  if (got < 0) {
    Error it = failed(got, error, "looking at " + unit);
    systemd_.error_free(&error);
    return it;
  }
  const char* object = nullptr;
  got = systemd_.message_read(reply.get(), "o", &object);
  if (got < 0) return os_error(-got, "looking at " + unit);
  const std::string path = object;
  UnitState state;
  state.load = text(path, unit_interface, "LoadState");
  state.active = text(path, unit_interface, "ActiveState");
  state.sub = text(path, unit_interface, "SubState");
  state.result = text(path, service_interface, "Result");
  state.control_group = text(path, service_interface, "ControlGroup");
  state.main_pid = number<std::uint32_t>(path, "MainPID", 'u');
  state.restarts = number<std::uint32_t>(path, "NRestarts", 'u');
  state.exit_kind = number<std::int32_t>(path, "ExecMainCode", 'i');
  state.exit_status = number<std::int32_t>(path, "ExecMainStatus", 'i');
  state.main_started_us = number<std::uint64_t>(path, "ExecMainStartTimestampMonotonic", 't');
  return state;
}

ManagerState UnitBus::manager_state() {
  // On a busy machine it answers late, and a bus asks in vain for one that has been killed.
  (void)systemd_.set_method_call_timeout(bus_, manager_patience_us);
  Libsystemd::BusError error;
  char* value = nullptr;
  const int got = systemd_.get_property_string(bus_, destination, manager_path, manager,
                                               "SystemState", &error, &value);
  systemd_.error_free(&error);
  if (got == -ETIMEDOUT) return ManagerState::runs;
  if (got < 0 || value == nullptr) return ManagerState::gone;
  const std::string state = value;
  std::free(value);  // NOLINT: allocated by malloc(3), and ours.
  return state == "stopping" ? ManagerState::stopping : ManagerState::runs;
}

bool is_going_down(bool user) {
  const auto state_of = [](bool of_user) {
    auto bus = UnitBus::open(of_user);
    return bus ? (*bus)->manager_state() : ManagerState::gone;
  };
  if (state_of(false) == ManagerState::stopping) return true;
  if (!user) return false;
  // A manager that is executed anew (systemctl daemon-reexec) is away for a moment, too.
  ManagerState state = state_of(true);
  for (int tries = 1; state == ManagerState::gone && tries < reaches_max; ++tries) {
    sleep_ms(reach_again_ms);
    state = state_of(true);
  }
  return state != ManagerState::runs;
}

}  // namespace headroom::machine
