// SPDX-License-Identifier: Apache-2.0
// What the interposed functions share: the runtime behind them, the allocators, the live blocks,
// and what is kept for each thread.
#pragma once

#include <atomic>
#include <utility>

#include "faces/hip/gpus.h"
#include "faces/hip/headroom_hip.h"
#include "faces/hip/host_route.h"
#include "faces/hip/live_blocks.h"
#include "faces/hip/runtime.h"

namespace headroom::hip_face {

// The functions of HIP that are called here, of the runtime itself. Null where it has none.
struct Runtime {
  template <class Function>
  static Function* find(Function* /*interposed*/, const char* name) {
    return runtime_function<Function>(name);
  }
  decltype(&::hipMalloc) allocate = find(&::hipMalloc, "hipMalloc");
  decltype(&::hipExtMallocWithFlags) allocate_with_flags =
      find(&::hipExtMallocWithFlags, "hipExtMallocWithFlags");
  decltype(&::hipMallocAsync) allocate_async = find(&::hipMallocAsync, "hipMallocAsync");
  decltype(&::hipMallocFromPoolAsync) allocate_from_pool =
      find(&::hipMallocFromPoolAsync, "hipMallocFromPoolAsync");
  decltype(&::hipFree) release = find(&::hipFree, "hipFree");
  decltype(&::hipHostFree) release_host = find(&::hipHostFree, "hipHostFree");
  decltype(&::hipFreeHost) release_host_old = find(&::hipFreeHost, "hipFreeHost");
  decltype(&::hipFreeAsync) release_async = find(&::hipFreeAsync, "hipFreeAsync");
  decltype(&::hipMemGetInfo) memory_info = find(&::hipMemGetInfo, "hipMemGetInfo");
  decltype(&::hipDeviceTotalMem) total_memory = find(&::hipDeviceTotalMem, "hipDeviceTotalMem");
  decltype(&::hipGetDeviceProperties) properties =
      find(&::hipGetDeviceProperties, "hipGetDeviceProperties");
  decltype(&::hipGetDevicePropertiesR0000) properties_r0000 =
      find(&::hipGetDevicePropertiesR0000, "hipGetDevicePropertiesR0000");
  decltype(&::hipGetDevicePropertiesR0600) properties_r0600 =
      find(&::hipGetDevicePropertiesR0600, "hipGetDevicePropertiesR0600");
  decltype(&::hipGetLastError) take_error = find(&::hipGetLastError, "hipGetLastError");
  decltype(&::hipExtGetLastError) take_error_ext =
      find(&::hipExtGetLastError, "hipExtGetLastError");
  decltype(&::hipPeekAtLastError) peek_error = find(&::hipPeekAtLastError, "hipPeekAtLastError");
  decltype(&::hipGetProcAddress) get_address = find(&::hipGetProcAddress, "hipGetProcAddress");
  decltype(&::hipStreamDestroy) destroy_stream = find(&::hipStreamDestroy, "hipStreamDestroy");
  decltype(&::hipMemPoolSetAccess) share_pool = find(&::hipMemPoolSetAccess, "hipMemPoolSetAccess");
  decltype(&::hipIpcGetMemHandle) export_memory = find(&::hipIpcGetMemHandle, "hipIpcGetMemHandle");
  decltype(&::hipDeviceReset) reset_device = find(&::hipDeviceReset, "hipDeviceReset");

  int (*device_count)(int*) = runtime_function<int(int*)>("hipGetDeviceCount");
  int (*get_device)(int*) = runtime_function<int(int*)>("hipGetDevice");
  int (*set_device)(int) = runtime_function<int(int)>("hipSetDevice");
  int (*device_attribute)(int*, int,
                          int) = runtime_function<int(int*, int, int)>("hipDeviceGetAttribute");
  int (*allocate_host)(void**, std::size_t, unsigned) =
      runtime_function<int(void**, std::size_t, unsigned)>("hipHostMalloc");
  int (*pci_address)(char*, int,
                     int) = runtime_function<int(char*, int, int)>("hipDeviceGetPCIBusId");
  int (*wait_for_device)() = runtime_function<int()>("hipDeviceSynchronize");
  int (*wait_for_stream)(void*) = runtime_function<int(void*)>("hipStreamSynchronize");
  int (*stream_device)(void*, int*) = runtime_function<int(void*, int*)>("hipStreamGetDevice");
  int (*is_capturing)(void*, int*) = runtime_function<int(void*, int*)>("hipStreamIsCapturing");
  int (*create_stream)(void**, unsigned) =
      runtime_function<int(void**, unsigned)>("hipStreamCreateWithFlags");
  int (*default_pool)(void**,
                      int) = runtime_function<int(void**, int)>("hipDeviceGetDefaultMemPool");
  int (*current_pool)(void**, int) = runtime_function<int(void**, int)>("hipDeviceGetMemPool");

  bool is_usable() const { return get_device && set_device && wait_for_device; }
  bool has_stream_order() const {
    return wait_for_stream && stream_device && is_capturing && create_stream && destroy_stream &&
           default_pool && current_pool;
  }
};

struct Counts {
  std::atomic<std::uint64_t> allocations = 0;
  std::atomic<std::uint64_t> frees = 0;
  std::atomic<std::uint64_t> out_of_memory = 0;
  std::atomic<std::uint64_t> refused_frees = 0;
  std::atomic<std::uint64_t> passed_on = 0;
};

struct Process {
  Process();

  Runtime runtime;
  Gpus gpus;
  HostRoute host_route;
  LiveBlocks blocks;
  std::atomic<bool> is_child = false;  // Of a fork(): it has none of the memory.
};

// Interposed functions have no place for an object of ours, and are called from destructors of
// statics: the one object of the process, which is never destroyed. Whoever calls a function of HIP
// has loaded the runtime by then.
Process& process();

// Apart from the above, because asking for them must not need a runtime.
Counts& counts();

// Of the calling thread. The runtime may call its own public functions while it serves us; `inside`
// says so. `error` is what hipGetLastError() has to say besides the runtime's own.
struct Thread {
  int error = success;
  bool inside = false;
};

Thread& this_thread();

// Says to this thread's interposed functions that the runtime is to be reached, to the end of the
// scope.
class Inside {
 public:
  Inside() : before_(std::exchange(this_thread().inside, true)) {}
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside() { this_thread().inside = before_; }

 private:
  bool before_;
};

// Calls the runtime. What it has no function for is an error of HIP's.
template <class... Parameters, class... Arguments>
int call(int (*function)(Parameters...), Arguments... arguments) {
  const Inside inside;  // The runtime may call its own public functions.
  return function == nullptr ? not_initialized : function(arguments...);
}

// Keeps an error of our own for hipGetLastError().
int noted(int code);

inline std::uint64_t number(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

// Null if the runtime has to serve: there is one allocator in a process, and PyTorch's comes first.
// `device` gets the current one.
headroom_allocator* allocator_for(Process& all, int* device);

}  // namespace headroom::hip_face
