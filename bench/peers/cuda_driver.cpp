// SPDX-License-Identifier: Apache-2.0
// The driver's functions that PyTorch 2.6 looks up by dlsym() in libcuda.so.1, over a GPU that only
// counts: one handle per page of virtual memory. Sharing and writing answer "not supported".
#include <cuda.h>

#include <cstddef>
#include <cstdint>

#include "counting_gpu.h"

// The header gives the name another version's suffix; PyTorch looks it up without, too.
#undef cuStreamWriteValue32

using headroom::peers::assumed_costs;
using headroom::peers::counting_gpu;

extern "C" {

CUresult cuMemAddressReserve(CUdeviceptr* address, std::size_t bytes, std::size_t /*alignment*/,
                             CUdeviceptr /*wanted*/, unsigned long long /*flags*/) {
  *address = counting_gpu().reserve(bytes);
  return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr /*address*/, std::size_t /*bytes*/) {
  counting_gpu().count_call(assumed_costs.reserve);  // Nobody has a price for it alone.
  return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t bytes,
                     const CUmemAllocationProp* properties, unsigned long long /*flags*/) {
  if (properties->requestedHandleTypes == CU_MEM_HANDLE_TYPE_FABRIC)
    return CUDA_ERROR_NOT_SUPPORTED;
  *handle = counting_gpu().take(bytes, assumed_costs.create);
  return *handle == 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return counting_gpu().give_back(handle, assumed_costs.destroy) ? CUDA_SUCCESS
                                                                 : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemMap(CUdeviceptr /*address*/, std::size_t /*bytes*/, std::size_t /*offset*/,
                  CUmemGenericAllocationHandle /*handle*/, unsigned long long /*flags*/) {
  counting_gpu().count_call(assumed_costs.map);
  return CUDA_SUCCESS;
}

CUresult cuMemUnmap(CUdeviceptr /*address*/, std::size_t /*bytes*/) {
  counting_gpu().count_call(assumed_costs.unmap);
  return CUDA_SUCCESS;
}

CUresult cuMemSetAccess(CUdeviceptr /*address*/, std::size_t /*bytes*/,
                        const CUmemAccessDesc* /*access*/, std::size_t /*count*/) {
  counting_gpu().count_call(assumed_costs.allow_access);
  return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationGranularity(std::size_t* bytes,
                                       const CUmemAllocationProp* /*properties*/,
                                       CUmemAllocationGranularity_flags /*option*/) {
  *bytes = headroom::peers::CountingGpu::unit_bytes;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute /*attribute*/, CUdevice /*device*/) {
  *value = 0;
  return CUDA_SUCCESS;
}

CUresult cuMemExportToShareableHandle(void* /*shared*/, CUmemGenericAllocationHandle /*handle*/,
                                      CUmemAllocationHandleType /*type*/,
                                      unsigned long long /*flags*/) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* /*handle*/, void* /*shared*/,
                                        CUmemAllocationHandleType /*type*/) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult cuMemsetD32Async(CUdeviceptr /*address*/, unsigned int /*value*/, std::size_t /*count*/,
                          CUstream /*stream*/) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult cuStreamWriteValue32(CUstream /*stream*/, CUdeviceptr /*address*/, cuuint32_t /*value*/,
                              unsigned int /*flags*/) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult cuStreamWriteValue32_v2(CUstream /*stream*/, CUdeviceptr /*address*/, cuuint32_t /*value*/,
                                 unsigned int /*flags*/) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult cuGetErrorString(CUresult error, const char** text) {
  *text = error == CUDA_ERROR_OUT_OF_MEMORY ? "out of memory" : "an error of the counting driver";
  return CUDA_SUCCESS;
}

}  // extern "C"
