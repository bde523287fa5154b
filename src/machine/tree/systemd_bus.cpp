// SPDX-License-Identifier: Apache-2.0
#include "machine/tree/systemd_bus.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <memory>

#include "machine/os_error.h"

namespace headroom::machine {
namespace {

// As sd-bus.h declares them, the same since version 221.
struct Bus;
struct Message;
struct BusError {
  const char* name;
  const char* message;
  int need_free;
};

struct Library {
  int (*open_system)(Bus**) = nullptr;
  int (*open_user)(Bus**) = nullptr;
  Bus* (*close_unref)(Bus*) = nullptr;
  int (*call_method)(Bus*, const char*, const char*, const char*, const char*, BusError*, Message**,
                     const char*, ...) = nullptr;
  void (*error_free)(BusError*) = nullptr;
};

Error not_there(const std::string& why) {
  return {Errc::unsupported, "asking systemd for a scope: " + why, ""};
}

Result<Library> load_library() {
  // Never closed: it may keep memory of its own.
  void* handle = ::dlopen("libsystemd.so.0", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return not_there("libsystemd.so.0 cannot be opened");
  Library library;
  const auto find = [&](auto*& function, const char* name) {
    // The conversion that POSIX promises for what dlsym returns.
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
    return function != nullptr;
  };
  const bool is_whole = find(library.open_system, "sd_bus_open_system") &&
                        find(library.open_user, "sd_bus_open_user") &&
                        find(library.close_unref, "sd_bus_flush_close_unref") &&
                        find(library.call_method, "sd_bus_call_method") &&
                        find(library.error_free, "sd_bus_error_free");
  if (!is_whole) return not_there("libsystemd.so.0 lacks a function");
  return library;
}

}  // namespace

bool is_systemd_there() {
  return ::access("/run/systemd/system", F_OK) == 0;
}

Status start_scope(const std::string& name, std::array<pid_t, 2> processes,
                   std::optional<Bytes> limit) {
  if (!is_systemd_there()) return not_there("systemd does not run here");
  HEADROOM_TRY(const Library library, load_library());
  Bus* opened = nullptr;
  const int failure = ::geteuid() == 0 ? library.open_system(&opened) : library.open_user(&opened);
  if (failure < 0) return os_error(-failure, "asking systemd for a scope");
  const std::unique_ptr<Bus, Bus* (*)(Bus*)> bus(opened, library.close_unref);
  BusError error{};
  constexpr std::uint64_t unlimited = ~std::uint64_t{0};  // As systemd writes "infinity".
  // Without a limit swap is as it would be; with one a job that lives in it would hardly move.
  const int answer =
      library.call_method(bus.get(), "org.freedesktop.systemd1", "/org/freedesktop/systemd1",
                          "org.freedesktop.systemd1.Manager", "StartTransientUnit", &error, nullptr,
                          "ssa(sv)a(sa(sv))", name.c_str(), "fail", 6,               //
                          "Description", "s", "A command that headroom supervises",  //
                          "PIDs", "au", 2, static_cast<std::uint32_t>(processes[0]),
                          static_cast<std::uint32_t>(processes[1]),                    //
                          "CollectMode", "s", "inactive-or-failed",                    //
                          "MemoryAccounting", "b", 1,                                  //
                          "MemoryMax", "t", limit ? limit->value : unlimited,          //
                          "MemorySwapMax", "t", limit ? std::uint64_t{0} : unlimited,  //
                          0);
  if (answer >= 0) return Done{};
  const std::string said = error.message != nullptr ? error.message : "";
  library.error_free(&error);
  if (said.empty()) return os_error(-answer, "asking systemd for a scope");
  return not_there(said);
}

}  // namespace headroom::machine
