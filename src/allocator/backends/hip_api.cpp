// SPDX-License-Identifier: Apache-2.0
#include "allocator/backends/hip_api.h"

#include <array>

#include "allocator/backends/shared_library.h"

namespace headroom::allocator {
namespace {

// The newest comes first. PyTorch's wheels bring their own library, which is loaded by then.
constexpr std::array<const char*, 4> names = {"libamdhip64.so.7", "libamdhip64.so.6",
                                              "libamdhip64.so.5", "libamdhip64.so"};

void find_memory(SharedLibrary& library, HipApi& api) {
  library.find(api.reserve, "hipMemAddressReserve");
  library.find(api.free_range, "hipMemAddressFree");
  library.find(api.create, "hipMemCreate");
  library.find(api.destroy, "hipMemRelease");
  library.find(api.map, "hipMemMap");
  library.find(api.set_access, "hipMemSetAccess");
  library.find(api.unmap, "hipMemUnmap");
  library.find(api.granularity, "hipMemGetAllocationGranularity");
  library.find(api.allocate, "hipMalloc");
  library.find(api.release, "hipFree");
  library.find(api.memory_info, "hipMemGetInfo");
  library.find(api.copy_in, "hipMemcpyHtoD");
  library.find(api.copy_out, "hipMemcpyDtoH");
  library.find(api.copy, "hipMemcpyDtoD");
  library.find(api.fill, "hipMemsetD32");
}

}  // namespace

Result<HipApi> HipApi::load() {
  HEADROOM_TRY(SharedLibrary library, SharedLibrary::open(names));
  HipApi api;
  library.find(api.init, "hipInit");
  library.find(api.runtime_version, "hipRuntimeGetVersion");
  library.find(api.device_count, "hipGetDeviceCount");
  library.find(api.device_name, "hipDeviceGetName");
  library.find(api.pci_address, "hipDeviceGetPCIBusId");
  library.find(api.device_attribute, "hipDeviceGetAttribute");
  library.find(api.get_device, "hipGetDevice");
  library.find(api.set_device, "hipSetDevice");
  library.find(api.peek_last_error, "hipPeekAtLastError");
  library.find(api.take_last_error, "hipGetLastError");
  library.find(api.error_name, "hipGetErrorName");
  library.find(api.exchange_capture_mode, "hipThreadExchangeStreamCaptureMode");
  find_memory(library, api);
  library.find(api.wait_for_device, "hipDeviceSynchronize");
  library.find(api.wait_for_stream, "hipStreamSynchronize");
  library.find(api.create_event, "hipEventCreateWithFlags");
  library.find(api.record_event, "hipEventRecord");
  library.find(api.query_event, "hipEventQuery");
  library.find(api.destroy_event, "hipEventDestroy");
  HEADROOM_CHECK(library.check_complete());
  return api;
}

}  // namespace headroom::allocator
