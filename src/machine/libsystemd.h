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

  int (*open_system)(void** bus) = nullptr;
  int (*open_user)(void** bus) = nullptr;
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
