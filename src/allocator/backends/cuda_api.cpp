// SPDX-License-Identifier: Apache-2.0
#include "allocator/backends/cuda_api.h"

#include <array>

#include "allocator/backends/shared_library.h"

namespace headroom::allocator {
namespace {

constexpr std::array<const char*, 1> names = {"libcuda.so.1"};

void find_memory(SharedLibrary& library, CudaApi& api) {
  library.find(api.reserve, "cuMemAddressReserve");
  library.find(api.free_range, "cuMemAddressFree");
  library.find(api.create, "cuMemCreate");
  library.find(api.destroy, "cuMemRelease");
  library.find(api.map, "cuMemMap");
  library.find(api.set_access, "cuMemSetAccess");
  library.find(api.unmap, "cuMemUnmap");
  library.find(api.granularity, "cuMemGetAllocationGranularity");
  library.find(api.allocate, "cuMemAlloc_v2");
  library.find(api.release, "cuMemFree_v2");
  library.find(api.memory_info, "cuMemGetInfo_v2");
  library.find(api.copy_in, "cuMemcpyHtoD_v2");
  library.find(api.copy_out, "cuMemcpyDtoH_v2");
  library.find(api.copy, "cuMemcpyDtoD_v2");
  library.find(api.fill, "cuMemsetD32_v2");
}

}  // namespace

Result<CudaApi> CudaApi::load() {
  HEADROOM_TRY(SharedLibrary library, SharedLibrary::open(names));
  CudaApi api;
  library.find(api.init, "cuInit");
  library.find(api.driver_version, "cuDriverGetVersion");
  library.find(api.device_count, "cuDeviceGetCount");
  library.find(api.device, "cuDeviceGet");
  library.find(api.device_name, "cuDeviceGetName");
  library.find(api.pci_address, "cuDeviceGetPCIBusId");
  library.find(api.device_attribute, "cuDeviceGetAttribute");
  library.find(api.retain_context, "cuDevicePrimaryCtxRetain");
  library.find(api.release_context, "cuDevicePrimaryCtxRelease_v2");
  library.find(api.current_context, "cuCtxGetCurrent");
  library.find(api.push_context, "cuCtxPushCurrent_v2");
  library.find(api.pop_context, "cuCtxPopCurrent_v2");
  library.find(api.error_name, "cuGetErrorName");
  library.find(api.exchange_capture_mode, "cuThreadExchangeStreamCaptureMode");
  find_memory(library, api);
  library.find(api.wait_for_device, "cuCtxSynchronize");
  library.find(api.wait_for_stream, "cuStreamSynchronize");
  library.find(api.create_event, "cuEventCreate");
  library.find(api.record_event, "cuEventRecord");
  library.find(api.query_event, "cuEventQuery");
  library.find(api.destroy_event, "cuEventDestroy_v2");
  HEADROOM_CHECK(library.check_complete());
  return api;
}

}  // namespace headroom::allocator
