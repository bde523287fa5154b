// SPDX-License-Identifier: Apache-2.0
// That HIP's functions, numbers and structures are declared as its headers declare them, where
// those are installed (Debian: libamdhip64-dev).
#include "allocator/backends/hip_api.h"

#include <gtest/gtest.h>

#if __has_include(<hip/hip_runtime_api.h>)
#define __HIP_PLATFORM_AMD__ 1  // NOLINT(bugprone-reserved-identifier): HIP's own switch.
#include <hip/hip_runtime_api.h>
#include <hip/hip_version.h>

#include "gpu/same_abi.h"

namespace headroom::gpu {
namespace {

using It = allocator::HipApi;

static_assert(It::success == hipSuccess && It::out_of_memory == hipErrorOutOfMemory);
static_assert(It::not_ready == hipErrorNotReady && It::not_supported == hipErrorNotSupported);
static_assert(It::device_location == hipMemLocationTypeDevice);
static_assert(It::pinned == hipMemAllocationTypePinned);
static_assert(It::read_write == hipMemAccessFlagsProtReadWrite);
static_assert(It::granularity_minimum == hipMemAllocationGranularityMinimum);
static_assert(It::relaxed_capture == hipStreamCaptureModeRelaxed);
static_assert(It::no_timing == hipEventDisableTiming);
// What follows it; ROCm 5.2 does not have it yet, so a runtime that old refuses the question.
static_assert(It::virtual_memory_attribute == hipDeviceAttributeMemoryPoolsSupported + 1);

static_assert(sizeof(It::Location) == sizeof(hipMemLocation));
static_assert(offsetof(It::Location, type) == offsetof(hipMemLocation, type));
static_assert(offsetof(It::Location, id) == offsetof(hipMemLocation, id));
static_assert(sizeof(It::Access) == sizeof(hipMemAccessDesc));
static_assert(offsetof(It::Access, location) == offsetof(hipMemAccessDesc, location));
static_assert(offsetof(It::Access, flags) == offsetof(hipMemAccessDesc, flags));

#if HIP_VERSION_MAJOR >= 6
static_assert(sizeof(It::PageProperties) == sizeof(hipMemAllocationProp));
static_assert(offsetof(It::PageProperties, type) == offsetof(hipMemAllocationProp, type));
static_assert(offsetof(It::PageProperties, location) == offsetof(hipMemAllocationProp, location));
static_assert(offsetof(It::PageProperties, flags) == offsetof(hipMemAllocationProp, allocFlags));
#else
// The old layout: why runtimes before first_version are not asked for pages.
static_assert(offsetof(It::PageProperties, type) != offsetof(hipMemAllocationProp, type));
static_assert(It::first_version / 10000000 > HIP_VERSION_MAJOR);
#endif

static_assert(same_abi<decltype(It::reserve), decltype(hipMemAddressReserve)>);
static_assert(same_abi<decltype(It::free_range), decltype(hipMemAddressFree)>);
static_assert(same_abi<decltype(It::create), decltype(hipMemCreate)>);
static_assert(same_abi<decltype(It::destroy), decltype(hipMemRelease)>);
static_assert(same_abi<decltype(It::map), decltype(hipMemMap)>);
static_assert(same_abi<decltype(It::set_access), decltype(hipMemSetAccess)>);
static_assert(same_abi<decltype(It::unmap), decltype(hipMemUnmap)>);
static_assert(same_abi<decltype(It::granularity), decltype(hipMemGetAllocationGranularity)>);
// The header overloads it for C++.
using Malloc =
    std::remove_pointer_t<decltype(static_cast<hipError_t (*)(void**, std::size_t)>(hipMalloc))>;
static_assert(same_abi<decltype(It::allocate), Malloc>);
static_assert(same_abi<decltype(It::release), decltype(hipFree)>);
static_assert(same_abi<decltype(It::memory_info), decltype(hipMemGetInfo)>);
static_assert(same_abi<decltype(It::copy_in), decltype(hipMemcpyHtoD)>);
static_assert(same_abi<decltype(It::copy_out), decltype(hipMemcpyDtoH)>);
static_assert(same_abi<decltype(It::copy), decltype(hipMemcpyDtoD)>);
static_assert(same_abi<decltype(It::fill), decltype(hipMemsetD32)>);
static_assert(same_abi<decltype(It::init), decltype(hipInit)>);
static_assert(same_abi<decltype(It::runtime_version), decltype(hipRuntimeGetVersion)>);
static_assert(same_abi<decltype(It::device_count), decltype(hipGetDeviceCount)>);
static_assert(same_abi<decltype(It::device_name), decltype(hipDeviceGetName)>);
static_assert(same_abi<decltype(It::pci_address), decltype(hipDeviceGetPCIBusId)>);
static_assert(same_abi<decltype(It::device_attribute), decltype(hipDeviceGetAttribute)>);
static_assert(same_abi<decltype(It::get_device), decltype(hipGetDevice)>);
static_assert(same_abi<decltype(It::set_device), decltype(hipSetDevice)>);
static_assert(same_abi<decltype(It::peek_last_error), decltype(hipPeekAtLastError)>);
static_assert(same_abi<decltype(It::take_last_error), decltype(hipGetLastError)>);
static_assert(same_abi<decltype(It::error_name), decltype(hipGetErrorName)>);
static_assert(
    same_abi<decltype(It::exchange_capture_mode), decltype(hipThreadExchangeStreamCaptureMode)>);
static_assert(same_abi<decltype(It::wait_for_device), decltype(hipDeviceSynchronize)>);
static_assert(same_abi<decltype(It::wait_for_stream), decltype(hipStreamSynchronize)>);
static_assert(same_abi<decltype(It::create_event), decltype(hipEventCreateWithFlags)>);
static_assert(same_abi<decltype(It::record_event), decltype(hipEventRecord)>);
static_assert(same_abi<decltype(It::query_event), decltype(hipEventQuery)>);
static_assert(same_abi<decltype(It::destroy_event), decltype(hipEventDestroy)>);

TEST(HipApi, is_declared_as_in_the_headers) {
  SUCCEED() << "compiled against HIP " << HIP_VERSION_MAJOR << "." << HIP_VERSION_MINOR;
}

}  // namespace
}  // namespace headroom::gpu
#else
TEST(HipApi, is_declared_as_in_the_headers) {
  GTEST_SKIP() << "the HIP headers are not installed: sudo apt install libamdhip64-dev";
}
#endif
