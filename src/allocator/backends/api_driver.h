// SPDX-License-Identifier: Apache-2.0
// A Driver over a function table. HipApi and CudaApi give the same names to the same operations, so
// this code is written once; a Session supplies what differs. It has the table (api), the device's
// number, the driver's name, the names of its error codes, and a Scope that lives during each call.
// The Scope makes the device current for the calling thread (ready() says whether that worked), is
// told of a failure (note_failure), and restores everything at its end.
#pragma once

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <thread>
#include <type_traits>
#include <utility>

#include "allocator/backend.h"
#include "allocator/backends/driver.h"
#include "base/bytes.h"
#include "base/text.h"

namespace headroom::allocator {

template <class Api, class Session>
class ApiDriver : public Driver {
 public:
  explicit ApiDriver(Session session) : session_(std::move(session)) {}

  std::string_view name() const override { return session_.name(); }

  Result<std::string> pci_address() override {
    std::array<char, 32> address{};
    HEADROOM_CHECK(call("asking for its PCI address", 0, api().pci_address, address.data(),
                        static_cast<int>(address.size()) - 1, session_.device()));
    return to_lower(address.data());
  }

  Status check_virtual_memory() override {
    int supported = 0;
    HEADROOM_CHECK(call("asking for virtual memory", 0, api().device_attribute, &supported,
                        Api::virtual_memory_attribute, session_.device()));
    if (supported == 0)
      return Error{
          Errc::unsupported,
          fmt::format("{} says that GPU {} has no virtual-memory calls", name(), session_.device()),
          ""};
    std::size_t granularity = 0;
    const auto page = page_properties();
    HEADROOM_CHECK(call("asking for the page size", 0, api().granularity, &granularity, &page,
                        Api::granularity_minimum));
    if (granularity != 0 && page_bytes % granularity == 0) return Done{};
    return Error{Errc::unsupported,
                 fmt::format("expected pages that divide 2 MiB, found {} bytes from {}",
                             granularity, name()),
                 ""};
  }
  Result<std::uint64_t> reserve(std::uint64_t bytes, std::uint64_t alignment) override {
    typename Api::Pointer address{};
    HEADROOM_CHECK(call("reserving addresses", bytes, api().reserve, &address, bytes, alignment,
                        typename Api::Pointer{}, 0ULL));
    return number(address);
  }
  Status free_range(std::uint64_t address, std::uint64_t bytes) override {
    return call("giving back addresses", bytes, api().free_range, pointer(address), bytes);
  }
  Result<std::uint64_t> create_pages(std::uint64_t bytes) override {
    typename Api::Page handle{};
    const auto properties = page_properties();
    HEADROOM_CHECK(call("creating pages", bytes, api().create, &handle, bytes, &properties, 0ULL));
    return number(handle);
  }
  Status destroy_pages(std::uint64_t handle) override {
    return call("destroying pages", 0, api().destroy, from_number<typename Api::Page>(handle));
  }
  Status map(std::uint64_t address, std::uint64_t bytes, std::uint64_t handle) override {
    // The offset is 0, because HIP accepts no other.
    return call("mapping pages", bytes, api().map, pointer(address), bytes, std::size_t{0},
                from_number<typename Api::Page>(handle), 0ULL);
  }
  Status set_access(std::uint64_t address, std::uint64_t bytes) override {
    typename Api::Access access;
    access.location.id = session_.device();
    return call("allowing access", bytes, api().set_access, pointer(address), bytes, &access,
                std::size_t{1});
  }
  Status unmap(std::uint64_t address, std::uint64_t bytes) override {
    return call("unmapping pages", bytes, api().unmap, pointer(address), bytes);
  }

  Result<std::uint64_t> allocate(std::uint64_t bytes) override {
    typename Api::Pointer address{};
    HEADROOM_CHECK(call("allocating", bytes, api().allocate, &address, bytes));
    return number(address);
  }
  Status release(std::uint64_t address) override {
    return call("releasing an allocation", 0, api().release, pointer(address));
  }
  Result<MemoryInfo> memory_info() override {
    std::size_t free = 0;
    std::size_t total = 0;
    HEADROOM_CHECK(call("asking for free memory", 0, api().memory_info, &free, &total));
    return MemoryInfo{free, total, Api::memory_info_name};
  }

  Status wait_for_device() override {
    return call("waiting for the GPU", 0, api().wait_for_device);
  }
  Status wait_for_stream(std::uintptr_t stream) override {
    return call("waiting for a stream", 0, api().wait_for_stream,
                from_number<typename Api::Stream>(stream));
  }
  Result<std::uintptr_t> create_event() override {
    typename Api::Event event{};
    HEADROOM_CHECK(call("creating an event", 0, api().create_event, &event, Api::no_timing));
    return static_cast<std::uintptr_t>(number(event));
  }
  Status record_event(std::uintptr_t event, std::uintptr_t stream) override {
    return call("recording an event", 0, api().record_event,
                from_number<typename Api::Event>(event), from_number<typename Api::Stream>(stream));
  }
  Result<bool> event_passed(std::uintptr_t event) override {
    const auto code = try_call(api().query_event, from_number<typename Api::Event>(event));
    if (code == Api::success) return true;
    if (code == Api::not_ready) return false;
    return failed("asking for an event", 0, code);
  }
  Status destroy_event(std::uintptr_t event) override {
    return call("destroying an event", 0, api().destroy_event,
                from_number<typename Api::Event>(event));
  }

  Status copy_in(std::uint64_t to, const void* from, std::uint64_t bytes) override {
    // HIP's declaration lacks the const.
    return call("copying to the GPU", bytes, api().copy_in, pointer(to), const_cast<void*>(from),
                bytes);
  }
  Status copy_out(void* to, std::uint64_t from, std::uint64_t bytes) override {
    return call("copying from the GPU", bytes, api().copy_out, to, pointer(from), bytes);
  }
  Status copy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes) override {
    HEADROOM_CHECK(
        call("copying on the GPU", bytes, api().copy, pointer(to), pointer(from), bytes));
    return wait_for_stream(0);  // The work is queued on the default stream only.
  }
  Status fill(std::uint64_t address, std::uint64_t bytes, std::uint32_t word) override {
    HEADROOM_CHECK(call("filling memory", bytes, api().fill, pointer(address), word, bytes / 4));
    return wait_for_stream(0);
  }

  std::uint64_t now_ns() override {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
  }
  void pause(std::uint64_t ns) override {
    if (ns > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(ns));
  }

 protected:
  const Api& api() const { return session_.api(); }
  const Session& session() const { return session_; }

  template <class Function, class... Arguments>
  Status call(std::string_view doing, std::uint64_t bytes, Function* function,
              Arguments... arguments) {
    const auto code = try_call(function, arguments...);
    if (code == Api::success) return Done{};
    return failed(doing, bytes, code);
  }

 private:
  typename Api::Pointer pointer(std::uint64_t address) const {
    return from_number<typename Api::Pointer>(address);
  }
  template <class T>
  static T from_number(std::uint64_t value) {
    if constexpr (std::is_pointer_v<T>) {
      // NOLINTNEXTLINE(performance-no-int-to-ptr)
      return reinterpret_cast<T>(static_cast<std::uintptr_t>(value));
    } else {
      return static_cast<T>(value);
    }
  }
  template <class T>
  static std::uint64_t number(T value) {
    if constexpr (std::is_pointer_v<T>) {
      return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(value));
    } else {
      return static_cast<std::uint64_t>(value);
    }
  }
  typename Api::PageProperties page_properties() const {
    typename Api::PageProperties properties;
    properties.location.id = session_.device();
    return properties;
  }

  template <class Function, class... Arguments>
  typename Api::Code try_call(Function* function, Arguments... arguments) {
    typename Session::Scope scope(session_);
    if (scope.ready() != Api::success) return scope.ready();
    const auto code = function(arguments...);
    if (code != Api::success) scope.note_failure();
    return code;
  }
  Error failed(std::string_view doing, std::uint64_t bytes, typename Api::Code code) const {
    const std::string what = bytes == 0 ? "" : " (" + to_string(Bytes{bytes}) + ")";
    const bool memory = code == Api::out_of_memory;
    return {memory                       ? Errc::out_of_memory
            : code == Api::not_supported ? Errc::unsupported
                                         : Errc::io,
            fmt::format("{}{} on GPU {}: {} says {}", doing, what, session_.device(), name(),
                        session_.error_name(code)),
            memory
                ? "headroom check shows who holds the GPU's memory"
                : "sudo dmesg | tail shows what the kernel's driver says; headroom check reads it"};
  }

  Session session_;
};

}  // namespace headroom::allocator
