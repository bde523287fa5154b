// SPDX-License-Identifier: Apache-2.0
// The few functions of the HIP runtime that a backend needs, loaded at run time. They are declared
// as in hip_runtime_api.h of ROCm 6 and 7; tests/gpu/hip_api_test.cpp compares the declarations
// with the headers if those are installed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace headroom::allocator {

struct HipApi {
  // hipError_t.
  using Code = int;
  static constexpr Code success = 0;
  static constexpr Code out_of_memory = 2;
  static constexpr Code not_ready = 600;
  static constexpr Code not_supported = 801;

  using Pointer = void*;  // hipDeviceptr_t.
  using Stream = void*;   // ihipStream_t*; null is the default stream.
  using Event = void*;
  using Page = void*;  // hipMemGenericAllocationHandle_t.

  // hipDeviceAttributeVirtualMemoryManagementSupported: follows hipDeviceAttributeMemoryPools-
  // Supported, where the headers of ROCm 5.2 end. A runtime that does not know it says so.
  static constexpr int virtual_memory_attribute = 89;
  // The HIP_VERSION of ROCm 6.0.0; hipMemAllocationProp had another layout in ROCm 5.
  static constexpr int first_version = 60000000;

  static constexpr int device_location = 1;      // hipMemLocationTypeDevice
  static constexpr int pinned = 1;               // hipMemAllocationTypePinned
  static constexpr int read_write = 3;           // hipMemAccessFlagsProtReadWrite
  static constexpr int granularity_minimum = 0;  // hipMemAllocationGranularityMinimum
  static constexpr int relaxed_capture = 2;      // hipStreamCaptureModeRelaxed
  static constexpr unsigned no_timing = 2;       // hipEventDisableTiming

  struct Location {
    int type = device_location;
    int id = 0;
  };
  struct PageProperties {  // hipMemAllocationProp
    int type = pinned;
    int handle_type = 0;  // hipMemHandleTypeNone: not to be shared.
    Location location;
    void* win32_handle = nullptr;
    struct {
      unsigned char compression = 0;
      unsigned char rdma = 0;
      unsigned short usage = 0;
    } flags;
  };
  struct Access {  // hipMemAccessDesc
    Location location;
    int flags = read_write;
  };

  // Fails with unsupported, and says what is missing.
  static Result<HipApi> load();

  Code (*init)(unsigned) = nullptr;
  Code (*runtime_version)(int*) = nullptr;
  Code (*device_count)(int*) = nullptr;
  Code (*device_name)(char*, int, int) = nullptr;
  Code (*pci_address)(char*, int, int) = nullptr;
  Code (*device_attribute)(int*, int, int) = nullptr;
  Code (*get_device)(int*) = nullptr;
  Code (*set_device)(int) = nullptr;
  Code (*peek_last_error)() = nullptr;
  Code (*take_last_error)() = nullptr;
  const char* (*error_name)(Code) = nullptr;
  Code (*exchange_capture_mode)(int*) = nullptr;

  Code (*reserve)(void**, std::size_t, std::size_t, void*, unsigned long long) = nullptr;
  Code (*free_range)(void*, std::size_t) = nullptr;
  Code (*create)(Page*, std::size_t, const PageProperties*, unsigned long long) = nullptr;
  Code (*destroy)(Page) = nullptr;
  Code (*map)(void*, std::size_t, std::size_t, Page, unsigned long long) = nullptr;
  Code (*set_access)(void*, std::size_t, const Access*, std::size_t) = nullptr;
  Code (*unmap)(void*, std::size_t) = nullptr;
  Code (*granularity)(std::size_t*, const PageProperties*, int) = nullptr;

  Code (*allocate)(void**, std::size_t) = nullptr;
  Code (*release)(void*) = nullptr;
  static constexpr std::string_view memory_info_name = "hipMemGetInfo";
  Code (*memory_info)(std::size_t*, std::size_t*) = nullptr;
  Code (*copy_in)(Pointer, void*, std::size_t) = nullptr;
  Code (*copy_out)(void*, Pointer, std::size_t) = nullptr;
  Code (*copy)(Pointer, Pointer, std::size_t) = nullptr;
  Code (*fill)(Pointer, int, std::size_t) = nullptr;

  Code (*wait_for_device)() = nullptr;
  Code (*wait_for_stream)(Stream) = nullptr;
  Code (*create_event)(Event*, unsigned) = nullptr;
  Code (*record_event)(Event, Stream) = nullptr;
  Code (*query_event)(Event) = nullptr;
  Code (*destroy_event)(Event) = nullptr;
};

}  // namespace headroom::allocator
