// SPDX-License-Identifier: Apache-2.0
// The few functions of the CUDA driver that a backend needs, loaded at run time. They are declared
// as in cuda.h of CUDA 11.2 and later; tests/gpu/cuda_api_test.cpp compares the declarations with
// the header if it is installed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace headroom::allocator {

struct CudaApi {
  // CUresult.
  using Code = int;
  static constexpr Code success = 0;
  static constexpr Code out_of_memory = 2;
  static constexpr Code not_ready = 600;
  static constexpr Code not_supported = 801;

  using Pointer = unsigned long long;  // CUdeviceptr.
  using Stream = void*;                // CUstream; null is the default stream.
  using Event = void*;
  using Context = void*;
  using Page = unsigned long long;  // CUmemGenericAllocationHandle.

  // CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
  static constexpr int virtual_memory_attribute = 102;

  static constexpr int device_location = 1;      // CU_MEM_LOCATION_TYPE_DEVICE
  static constexpr int pinned = 1;               // CU_MEM_ALLOCATION_TYPE_PINNED
  static constexpr int read_write = 3;           // CU_MEM_ACCESS_FLAGS_PROT_READWRITE
  static constexpr int granularity_minimum = 0;  // CU_MEM_ALLOC_GRANULARITY_MINIMUM
  static constexpr int relaxed_capture = 2;      // CU_STREAM_CAPTURE_MODE_RELAXED
  static constexpr unsigned no_timing = 2;       // CU_EVENT_DISABLE_TIMING

  struct Location {
    int type = device_location;
    int id = 0;
  };
  struct PageProperties {  // CUmemAllocationProp
    int type = pinned;
    int handle_type = 0;  // CU_MEM_HANDLE_TYPE_NONE: not to be shared.
    Location location;
    void* win32_handle = nullptr;
    struct {
      unsigned char compression = 0;
      unsigned char rdma = 0;
      unsigned short usage = 0;
      unsigned char reserved[4] = {};
    } flags;
  };
  struct Access {  // CUmemAccessDesc
    Location location;
    int flags = read_write;
  };

  // Fails with unsupported, and says what is missing.
  static Result<CudaApi> load();

  Code (*init)(unsigned) = nullptr;
  Code (*driver_version)(int*) = nullptr;
  Code (*device_count)(int*) = nullptr;
  Code (*device)(int*, int) = nullptr;
  Code (*device_name)(char*, int, int) = nullptr;
  Code (*pci_address)(char*, int, int) = nullptr;
  Code (*device_attribute)(int*, int, int) = nullptr;
  Code (*retain_context)(Context*, int) = nullptr;
  Code (*release_context)(int) = nullptr;
  Code (*current_context)(Context*) = nullptr;
  Code (*push_context)(Context) = nullptr;
  Code (*pop_context)(Context*) = nullptr;
  Code (*error_name)(Code, const char**) = nullptr;
  Code (*exchange_capture_mode)(int*) = nullptr;

  Code (*reserve)(Pointer*, std::size_t, std::size_t, Pointer, unsigned long long) = nullptr;
  Code (*free_range)(Pointer, std::size_t) = nullptr;
  Code (*create)(Page*, std::size_t, const PageProperties*, unsigned long long) = nullptr;
  Code (*destroy)(Page) = nullptr;
  Code (*map)(Pointer, std::size_t, std::size_t, Page, unsigned long long) = nullptr;
  Code (*set_access)(Pointer, std::size_t, const Access*, std::size_t) = nullptr;
  Code (*unmap)(Pointer, std::size_t) = nullptr;
  Code (*granularity)(std::size_t*, const PageProperties*, int) = nullptr;

  Code (*allocate)(Pointer*, std::size_t) = nullptr;
  Code (*release)(Pointer) = nullptr;
  static constexpr std::string_view memory_info_name = "cuMemGetInfo";
  Code (*memory_info)(std::size_t*, std::size_t*) = nullptr;
  Code (*copy_in)(Pointer, const void*, std::size_t) = nullptr;
  Code (*copy_out)(void*, Pointer, std::size_t) = nullptr;
  Code (*copy)(Pointer, Pointer, std::size_t) = nullptr;
  Code (*fill)(Pointer, unsigned, std::size_t) = nullptr;

  Code (*wait_for_device)() = nullptr;
  Code (*wait_for_stream)(Stream) = nullptr;
  Code (*create_event)(Event*, unsigned) = nullptr;
  Code (*record_event)(Event, Stream) = nullptr;
  Code (*query_event)(Event) = nullptr;
  Code (*destroy_event)(Event) = nullptr;
};

}  // namespace headroom::allocator
