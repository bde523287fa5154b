// SPDX-License-Identifier: Apache-2.0
#include "machine/libsystemd.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "machine/symbols.h"

namespace headroom::machine {
namespace {

Error not_there(const std::string& why) {
  return {Errc::unsupported,
          fmt::format("speaking to systemd needs libsystemd, which cannot be used here ({})", why),
          "sudo apt install libsystemd0   (where systemd runs it is there)"};
}

// pam_systemd(8) sets the variable; sudo and cron may not have it.
std::string user_runtime_folder() {
  const char* said = ::secure_getenv("XDG_RUNTIME_DIR");  // NOLINT(concurrency-mt-unsafe)
  if (said != nullptr && *said == '/') return said;
  return fmt::format("/run/user/{}", ::geteuid());
}

}  // namespace

Result<Libsystemd> Libsystemd::load() {
  void* library = ::dlopen("libsystemd.so.0", RTLD_NOW | RTLD_LOCAL);  // Never closed.
  if (library == nullptr) {
    const char* said = ::dlerror();  // NOLINT(concurrency-mt-unsafe): of this thread.
    return not_there(said == nullptr ? "libsystemd.so.0" : said);
  }
  Libsystemd it;
  Symbols symbols(library);
  symbols.find(it.open_system, "sd_bus_open_system");
  symbols.find(it.open_user, "sd_bus_open_user");
  symbols.find(it.create, "sd_bus_new");
  symbols.find(it.set_address, "sd_bus_set_address");
  symbols.find(it.start, "sd_bus_start");
  symbols.find(it.set_method_call_timeout, "sd_bus_set_method_call_timeout");
  symbols.find(it.flush_close_unref, "sd_bus_flush_close_unref");
  symbols.find(it.call_method, "sd_bus_call_method");
  symbols.find(it.get_property_string, "sd_bus_get_property_string");
  symbols.find(it.get_property_trivial, "sd_bus_get_property_trivial");
  symbols.find(it.get_property_strv, "sd_bus_get_property_strv");
  symbols.find(it.message_read, "sd_bus_message_read");
  symbols.find(it.message_unref, "sd_bus_message_unref");
  symbols.find(it.error_free, "sd_bus_error_free");
  if (!symbols.missing().empty()) return not_there("it lacks " + symbols.missing());
  return it;
}

int Libsystemd::open_manager(bool user, void** bus) const {
  // As systemctl(1) waits for a manager that reads its units: sd-bus's own 25 s are too few for a
  // busy system. Where it cannot be set they hold.
  constexpr std::uint64_t patience_us = 180'000'000;
  const int opened = user ? open_user(bus) : open_system(bus);
  if (opened >= 0) {
    (void)set_method_call_timeout(*bus, patience_us);
    return 0;
  }
  // As systemctl(1) does. Only root may use the system's.
  const std::string address =
      "unix:path=" + (user ? user_runtime_folder() : "/run") + "/systemd/private";
  void* direct = nullptr;
  if (create(&direct) < 0) return opened;
  if (set_address(direct, address.c_str()) < 0 || start(direct) < 0) {
    flush_close_unref(direct);
    return opened;
  }
  (void)set_method_call_timeout(direct, patience_us);
  *bus = direct;
  return 0;
}

}  // namespace headroom::machine
