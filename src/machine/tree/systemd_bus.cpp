// SPDX-License-Identifier: Apache-2.0
#include "machine/tree/systemd_bus.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <memory>

#include "base/require.h"
#include "machine/clock.h"
#include "machine/libsystemd.h"
#include "machine/os_error.h"
#include "machine/tree/group_places.h"

namespace headroom::machine {
namespace {

constexpr const char* doing = "asking systemd for a scope";

Error not_there(const std::string& why) {
  return {Errc::unsupported, std::string(doing) + ": " + why, ""};
}

// The call, with as many processes as there are.
template <class... Pid>
int call_start(const Libsystemd& systemd, void* bus, Libsystemd::BusError* error,
               const ScopeRequest& request, Pid... pids) {
  constexpr std::uint64_t unlimited = ~std::uint64_t{0};  // As systemd writes "infinity".
  // Without a limit swap is as it would be; with one a job that lives in it would hardly move.
  return systemd.call_method(bus, "org.freedesktop.systemd1", "/org/freedesktop/systemd1",
                             "org.freedesktop.systemd1.Manager", "StartTransientUnit", error,
                             nullptr, "ssa(sv)a(sa(sv))", request.name.c_str(), "fail", 6,  //
                             "Description", "s", request.description.c_str(),               //
                             "PIDs", "au", static_cast<int>(sizeof...(pids)),
                             static_cast<std::uint32_t>(pids)...,                                 //
                             "CollectMode", "s", "inactive-or-failed",                            //
                             "MemoryAccounting", "b", 1,                                          //
                             "MemoryMax", "t", request.limit ? request.limit->value : unlimited,  //
                             "MemorySwapMax", "t", request.limit ? std::uint64_t{0} : unlimited,  //
                             0);
}

}  // namespace

bool is_systemd_there() {
  return ::access("/run/systemd/system", F_OK) == 0;
}

Status start_scope(const ScopeRequest& request) {
  require(request.processes.size() == 1 || request.processes.size() == 2,
          "a scope is asked for around one or two processes");
  if (!is_systemd_there()) return not_there("systemd does not run here");
  const auto systemd = Libsystemd::load();
  if (!systemd) return not_there(systemd.error().message);
  void* opened = nullptr;
  const int failure = systemd->open_manager(::geteuid() != 0, &opened);
  if (failure < 0) return os_error(-failure, doing);
  const std::unique_ptr<void, void* (*)(void*)> bus(opened, systemd->flush_close_unref);
  Libsystemd::BusError error;
  const std::vector<pid_t>& all = request.processes;
  const int answer = all.size() == 1
                         ? call_start(*systemd, bus.get(), &error, request, all[0])
                         : call_start(*systemd, bus.get(), &error, request, all[0], all[1]);
  if (answer >= 0) return Done{};
  const std::string said = error.message != nullptr ? error.message : "";
  systemd->error_free(&error);
  if (said.empty()) return os_error(-answer, doing);
  return not_there(said);
}

Status wait_for_scope(pid_t process, const std::string& name) {
  constexpr int most_looks = 1000;
  constexpr std::uint64_t pause_ms = 5;
  for (int i = 0; i < most_looks; ++i) {
    const GroupPlaces places = read_group_places(process);
    const auto of_systemd = places.by_controller.find("name=systemd");  // Version 1.
    if (places.unified && places.unified->ends_with("/" + name)) return Done{};
    if (of_systemd != places.by_controller.end() && of_systemd->second.ends_with("/" + name))
      return Done{};
    sleep_ms(pause_ms);
  }
  return Error{Errc::io, fmt::format("systemd has not put process {} into {}", process, name),
               "systemctl status " + name};
}

}  // namespace headroom::machine
