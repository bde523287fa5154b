// SPDX-License-Identifier: Apache-2.0
// A stand-in for CUDA's runtime: functions that PyTorch's libraries must find when they are loaded,
// and that nothing may rely on here. Each refuses, so that a program that does call one says so.
#include "stand_ins/cuda_runtime.h"

#define HEADROOM_REFUSED(name)                                             \
  int name() {                                                             \
    return headroom::stand_ins::noted(headroom::stand_ins::not_supported); \
  }

extern "C" {

HEADROOM_REFUSED(cudaDeviceGetDefaultMemPool)
HEADROOM_REFUSED(cudaDeviceGetGraphMemAttribute)
HEADROOM_REFUSED(cudaDeviceSetGraphMemAttribute)
HEADROOM_REFUSED(cudaGetSymbolAddress)
HEADROOM_REFUSED(cudaGraphAddNode)
HEADROOM_REFUSED(cudaGraphConditionalHandleCreate)
HEADROOM_REFUSED(cudaGraphDebugDotPrint)
HEADROOM_REFUSED(cudaGraphNodeGetDependencies)
HEADROOM_REFUSED(cudaGraphRetainUserObject)
HEADROOM_REFUSED(cudaIpcCloseMemHandle)
HEADROOM_REFUSED(cudaIpcGetEventHandle)
HEADROOM_REFUSED(cudaIpcGetMemHandle)
HEADROOM_REFUSED(cudaIpcOpenEventHandle)
HEADROOM_REFUSED(cudaIpcOpenMemHandle)
HEADROOM_REFUSED(cudaKernelSetAttributeForDevice)
HEADROOM_REFUSED(cudaLibraryGetGlobal)
HEADROOM_REFUSED(cudaLibraryGetKernel)
HEADROOM_REFUSED(cudaLibraryGetKernelCount)
HEADROOM_REFUSED(cudaLibraryGetManaged)
HEADROOM_REFUSED(cudaLibraryGetUnifiedFunction)
HEADROOM_REFUSED(cudaLibraryLoadData)
HEADROOM_REFUSED(cudaLibraryLoadFromFile)
HEADROOM_REFUSED(cudaLibraryUnload)
HEADROOM_REFUSED(cudaMemPoolGetAttribute)
HEADROOM_REFUSED(cudaMemPoolSetAccess)
HEADROOM_REFUSED(cudaMemPoolSetAttribute)
HEADROOM_REFUSED(cudaMemPoolTrimTo)
HEADROOM_REFUSED(cudaMemcpyToSymbol)
HEADROOM_REFUSED(cudaProfilerStart)
HEADROOM_REFUSED(cudaProfilerStop)
HEADROOM_REFUSED(cudaStreamAddCallback)
HEADROOM_REFUSED(cudaStreamBeginCaptureToGraph)
HEADROOM_REFUSED(cudaStreamUpdateCaptureDependencies)
HEADROOM_REFUSED(cudaUserObjectCreate)
HEADROOM_REFUSED(cudaUserObjectRelease)

}  // extern "C"
