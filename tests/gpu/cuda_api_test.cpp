// SPDX-License-Identifier: Apache-2.0
// That the CUDA driver's functions, numbers and structures are declared as cuda.h declares them,
// where it is installed. Never required.
#include "allocator/backends/cuda_api.h"

#include <gtest/gtest.h>

#if __has_include(<cuda.h>)
#include <cuda.h>

#include "gpu/same_abi.h"

namespace headroom::gpu {
namespace {

using It = allocator::CudaApi;

static_assert(It::success == CUDA_SUCCESS && It::out_of_memory == CUDA_ERROR_OUT_OF_MEMORY);
static_assert(It::not_ready == CUDA_ERROR_NOT_READY);
static_assert(It::not_supported == CUDA_ERROR_NOT_SUPPORTED);
static_assert(It::virtual_memory_attribute ==
              CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
static_assert(It::device_location == CU_MEM_LOCATION_TYPE_DEVICE);
static_assert(It::pinned == CU_MEM_ALLOCATION_TYPE_PINNED);
static_assert(It::read_write == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
static_assert(It::granularity_minimum == CU_MEM_ALLOC_GRANULARITY_MINIMUM);
static_assert(It::relaxed_capture == CU_STREAM_CAPTURE_MODE_RELAXED);
static_assert(It::no_timing == CU_EVENT_DISABLE_TIMING);

static_assert(sizeof(It::Location) == sizeof(CUmemLocation));
static_assert(offsetof(It::Location, type) == offsetof(CUmemLocation, type));
static_assert(offsetof(It::Location, id) == offsetof(CUmemLocation, id));
static_assert(sizeof(It::Access) == sizeof(CUmemAccessDesc));
static_assert(offsetof(It::Access, location) == offsetof(CUmemAccessDesc, location));
static_assert(offsetof(It::Access, flags) == offsetof(CUmemAccessDesc, flags));
static_assert(sizeof(It::PageProperties) == sizeof(CUmemAllocationProp));
static_assert(offsetof(It::PageProperties, type) == offsetof(CUmemAllocationProp, type));
static_assert(offsetof(It::PageProperties, handle_type) ==
              offsetof(CUmemAllocationProp, requestedHandleTypes));
static_assert(offsetof(It::PageProperties, location) == offsetof(CUmemAllocationProp, location));
static_assert(offsetof(It::PageProperties, flags) == offsetof(CUmemAllocationProp, allocFlags));

static_assert(same_abi<decltype(It::reserve), decltype(cuMemAddressReserve)>);
static_assert(same_abi<decltype(It::free_range), decltype(cuMemAddressFree)>);
static_assert(same_abi<decltype(It::create), decltype(cuMemCreate)>);
static_assert(same_abi<decltype(It::destroy), decltype(cuMemRelease)>);
static_assert(same_abi<decltype(It::map), decltype(cuMemMap)>);
static_assert(same_abi<decltype(It::set_access), decltype(cuMemSetAccess)>);
static_assert(same_abi<decltype(It::unmap), decltype(cuMemUnmap)>);
static_assert(same_abi<decltype(It::granularity), decltype(cuMemGetAllocationGranularity)>);
static_assert(same_abi<decltype(It::allocate), decltype(cuMemAlloc)>);
static_assert(same_abi<decltype(It::release), decltype(cuMemFree)>);
static_assert(same_abi<decltype(It::memory_info), decltype(cuMemGetInfo)>);
static_assert(same_abi<decltype(It::copy_in), decltype(cuMemcpyHtoD)>);
static_assert(same_abi<decltype(It::copy_out), decltype(cuMemcpyDtoH)>);
static_assert(same_abi<decltype(It::copy), decltype(cuMemcpyDtoD)>);
static_assert(same_abi<decltype(It::fill), decltype(cuMemsetD32)>);
static_assert(same_abi<decltype(It::init), decltype(cuInit)>);
static_assert(same_abi<decltype(It::driver_version), decltype(cuDriverGetVersion)>);
static_assert(same_abi<decltype(It::device_count), decltype(cuDeviceGetCount)>);
static_assert(same_abi<decltype(It::device), decltype(cuDeviceGet)>);
static_assert(same_abi<decltype(It::device_name), decltype(cuDeviceGetName)>);
static_assert(same_abi<decltype(It::pci_address), decltype(cuDeviceGetPCIBusId)>);
static_assert(same_abi<decltype(It::device_attribute), decltype(cuDeviceGetAttribute)>);
static_assert(same_abi<decltype(It::retain_context), decltype(cuDevicePrimaryCtxRetain)>);
static_assert(same_abi<decltype(It::release_context), decltype(cuDevicePrimaryCtxRelease)>);
static_assert(same_abi<decltype(It::current_context), decltype(cuCtxGetCurrent)>);
static_assert(same_abi<decltype(It::push_context), decltype(cuCtxPushCurrent)>);
static_assert(same_abi<decltype(It::pop_context), decltype(cuCtxPopCurrent)>);
static_assert(same_abi<decltype(It::error_name), decltype(cuGetErrorName)>);
static_assert(
    same_abi<decltype(It::exchange_capture_mode), decltype(cuThreadExchangeStreamCaptureMode)>);
static_assert(same_abi<decltype(It::wait_for_device), decltype(cuCtxSynchronize)>);
static_assert(same_abi<decltype(It::wait_for_stream), decltype(cuStreamSynchronize)>);
static_assert(same_abi<decltype(It::create_event), decltype(cuEventCreate)>);
static_assert(same_abi<decltype(It::record_event), decltype(cuEventRecord)>);
static_assert(same_abi<decltype(It::query_event), decltype(cuEventQuery)>);
static_assert(same_abi<decltype(It::destroy_event), decltype(cuEventDestroy)>);

TEST(CudaApi, is_declared_as_in_the_header) {
  SUCCEED() << "compiled against CUDA " << CUDA_VERSION;
}

}  // namespace
}  // namespace headroom::gpu
#else
TEST(CudaApi, is_declared_as_in_the_header) {
  GTEST_SKIP() << "cuda.h is not installed here";
}
#endif
