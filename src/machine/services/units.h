// SPDX-License-Identifier: Apache-2.0
// systemd's units over its bus (org.freedesktop.systemd1(5)): asked for values, not read from what
// systemctl prints.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "machine/libsystemd.h"
#include "machine/services/service.h"

namespace headroom::machine {

// What systemd says of a unit.
struct UnitState {
  std::string load;    // "loaded", "not-found", "bad-setting", …
  std::string active;  // "active", "activating", "failed", …
  std::string sub;     // "running", "auto-restart", …
  std::string result;  // "success", "oom-kill", "signal", …
  std::string control_group;
  std::uint32_t main_pid = 0;  // 0: none.
  std::uint32_t restarts = 0;
  std::int32_t exit_kind = 0;  // Of the last main process: CLD_EXITED and its kin; 0: none ended.
  std::int32_t exit_status = 0;
  std::uint64_t main_started_us = 0;
};

enum class ManagerState {
  runs,
  stopping,  // It is ending, and starts nothing any more.
  gone,      // Nobody is there to be asked.
};

// One connection to a service manager. One thread.
class UnitBus {
 public:
  // `user`: the user's own manager. Fails with unsupported without libsystemd, with not_found where
  // no such manager runs.
  static Result<std::unique_ptr<UnitBus>> open(bool user);
  ~UnitBus();
  UnitBus(const UnitBus&) = delete;
  UnitBus& operator=(const UnitBus&) = delete;

  // Each fails with no_permission where this user may not.
  Status reload();  // Units and generators are read anew.
  // Begins; ask for its state to see when it is done.
  Status start(const std::string& unit);
  Status stop(const std::string& unit);
  Status kill(const std::string& unit, int signal);
  Status forget_failure(const std::string& unit);
  Result<UnitState> state(const std::string& unit);
  // Waits for up to 20 s; for the last question on this bus.
  ManagerState manager_state();

 private:
  UnitBus(const Libsystemd& systemd, void* bus) : systemd_(systemd), bus_(bus) {}
  Status call(const char* member, const std::string& unit, const char* mode);
  Error failed(int number, const Libsystemd::BusError& error, const std::string& doing) const;
  std::string text(const std::string& path, const char* interface, const char* name);
  template <class T>
  T number(const std::string& path, const char* name, char type);

  Libsystemd systemd_;
  void* bus_;
};

// Whether the system is going down or, with `user`, this user's manager; for one that has spoken to
// it before: a user's manager that cannot be reached any more has gone. No where nobody says so,
// and where it does not answer in time.
bool is_going_down(bool user);

struct UnitServiceOptions {
  std::string unit;  // "photos-ml.service".
  bool user = false;
};

// Fails as UnitBus::open() does.
Result<std::unique_ptr<Service>> make_unit_service(UnitServiceOptions options);

}  // namespace headroom::machine
