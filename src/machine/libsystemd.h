// SPDX-License-Identifier: Apache-2.0
// libsystemd's sd-bus, opened at run time: most of what headroom does speaks to no service manager.
// The functions that are used, as sd-bus.h declares them (shared object version 0; sd-bus(3)).
#pragma once

#include <cstdint>

#include "base/result.h"

namespace headroom::machine {

struct Libsystemd {
  struct BusError {  // sd_bus_error
    const char* name = nullptr;
    const char* message = nullptr;
    int need_free = 0;
  };

  // Fails with unsupported, and the command that installs it.
  static Result<Libsystemd> load();

  // Opens a connection to the system's manager or to this user's: over its bus, else by the socket
  // that it has for itself, which is there without a bus and while that goes down. Returns 0 or
  // -errno. The caller ends it by flush_close_unref.
  int open_manager(bool user, void** bus) const;

  int (*open_system)(void** bus) = nullptr;
  int (*open_user)(void** bus) = nullptr;
  int (*create)(void** bus) = nullptr;  // sd_bus_new
  int (*set_address)(void* bus, const char* address) = nullptr;
  int (*start)(void* bus) = nullptr;
  int (*set_method_call_timeout)(void* bus, std::uint64_t us) = nullptr;
  void* (*flush_close_unref)(void* bus) = nullptr;
  int (*call_method)(void* bus, const char* destination, const char* path, const char* interface,
                     const char* member, BusError* error, void** reply, const char* types,
                     ...) = nullptr;
  int (*get_property_string)(void* bus, const char* destination, const char* path,
                             const char* interface, const char* member, BusError* error,
                             char** value) = nullptr;
  int (*get_property_trivial)(void* bus, const char* destination, const char* path,
                              const char* interface, const char* member, BusError* error, char type,
                              void* value) = nullptr;
  int (*get_property_strv)(void* bus, const char* destination, const char* path,
                           const char* interface, const char* member, BusError* error,
                           char*** values) = nullptr;
  int (*message_read)(void* message, const char* types, ...) = nullptr;
  void* (*message_unref)(void* message) = nullptr;
  void (*error_free)(BusError* error) = nullptr;
};

}  // namespace headroom::machine
