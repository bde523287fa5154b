// SPDX-License-Identifier: Apache-2.0
#include "machine/tree/logout_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include "machine/libsystemd.h"

namespace headroom::machine {
namespace {

constexpr const char* logind = "org.freedesktop.login1";
constexpr const char* manager_path = "/org/freedesktop/login1";
constexpr const char* manager = "org.freedesktop.login1.Manager";

// The system's bus, as long as this lives.
class Logind {
 public:
  Logind(const Libsystemd& systemd, void* bus)
      : systemd_(systemd), bus_(bus, systemd.flush_close_unref) {}

  std::optional<bool> truth(const std::string& path, const char* interface, const char* name) {
    int value = 0;
    Libsystemd::BusError error;
    const int got = systemd_.get_property_trivial(bus_.get(), logind, path.c_str(), interface, name,
                                                  &error, 'b', &value);
    systemd_.error_free(&error);
    if (got < 0) return std::nullopt;
    return value != 0;
  }

  std::vector<std::string> list(const char* name) {
    char** values = nullptr;
    Libsystemd::BusError error;
    const int got = systemd_.get_property_strv(bus_.get(), logind, manager_path, manager, name,
                                               &error, &values);
    systemd_.error_free(&error);
    std::vector<std::string> found;
    if (got < 0 || values == nullptr) return found;
    for (char** one = values; *one != nullptr; ++one) {
      found.emplace_back(*one);
      std::free(*one);  // NOLINT: allocated by malloc(3), and ours.
    }
    std::free(values);  // NOLINT: likewise.
    return found;
  }

 private:
  const Libsystemd& systemd_;
  std::unique_ptr<void, void* (*)(void*)> bus_;
};

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// KillOnlyUsers= and KillExcludeUsers= decide for whom it is in force; the second one wins.
std::optional<bool> ends_processes_of(Logind& logind_bus, const std::string& name) {
  const auto ends = logind_bus.truth(manager_path, manager, "KillUserProcesses");
  if (!ends || !*ends) return ends;
  if (holds(logind_bus.list("KillExcludeUsers"), name)) return false;
  const auto only = logind_bus.list("KillOnlyUsers");
  return only.empty() || holds(only, name);
}

}  // namespace

LogoutRule read_logout_rule(std::uint64_t user_id, const std::string& name) {
  LogoutRule rule;
  const auto systemd = Libsystemd::load();
  void* opened = nullptr;
  if (!systemd || systemd->open_system(&opened) < 0) return rule;
  Logind bus(*systemd, opened);
  rule.lingers = bus.truth(fmt::format("{}/user/_{}", manager_path, user_id),
                           "org.freedesktop.login1.User", "Linger");
  rule.ends_processes = ends_processes_of(bus, name);
  return rule;
}

}  // namespace headroom::machine
