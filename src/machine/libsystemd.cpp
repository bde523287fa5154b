// SPDX-License-Identifier: Apache-2.0
#include "machine/libsystemd.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <string>

#include "machine/symbols.h"

namespace headroom::machine {
namespace {

Error not_there(const std::string& why) {
  return {Errc::unsupported,
          fmt::format("speaking to systemd needs libsystemd, which cannot be used here ({})", why),
          "sudo apt install libsystemd0   (where systemd runs it is there)"};
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

}  // namespace headroom::machine
