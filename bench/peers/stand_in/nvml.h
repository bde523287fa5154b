// SPDX-License-Identifier: Apache-2.0
// Stands in for NVIDIA's nvml.h where CUDA's headers come without it: the declarations that
// PyTorch's allocator names. It asks NVML for the other processes on the card when it reports an
// error, and does without where libnvidia-ml.so.1 is absent. Names and types as in NVML's reference
// manual.
#pragma once

enum nvmlReturn_t { NVML_SUCCESS = 0, NVML_ERROR_INSUFFICIENT_SIZE = 7 };
enum nvmlIntNvLinkDeviceType_t { NVML_NVLINK_DEVICE_TYPE_UNKNOWN = 255 };

#define NVML_DEVICE_PCI_BUS_ID_FMT "%08X:%02X:%02X.0"
#define NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE 32

using nvmlDevice_t = struct nvmlDevice_st*;
struct nvmlPciInfo_t;

struct nvmlProcessInfo_v1_t {
  unsigned int pid;
  unsigned long long usedGpuMemory;
};

extern "C" {
nvmlReturn_t nvmlInit_v2();
nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, nvmlDevice_t* device);
nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t device, unsigned int link,
                                                 nvmlIntNvLinkDeviceType_t* type);
nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned int link,
                                                 nvmlPciInfo_t* info);
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned int* count,
                                                  nvmlProcessInfo_v1_t* infos);
}
