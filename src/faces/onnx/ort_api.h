// SPDX-License-Identifier: Apache-2.0
// As much of ONNX Runtime's C interface as registering an allocator needs (microsoft/onnxruntime:
// include/onnxruntime/core/session/onnxruntime_c_api.h, version 22, and onnxruntime_ep_c_api.h).
// The interface is a table of functions that only ever grows, so a place in it stays.
#pragma once

#include <cstddef>
#include <cstdint>

namespace headroom::onnx_face {

// The first version whose Python module can register libraries.
inline constexpr std::uint32_t ort_version = 22;

// OrtApiBase.
struct OrtApiBase {
  void* const* (*get_api)(std::uint32_t version);  // Null for a version that is not supported.
  const char* (*get_version_string)();
};

// OrtAllocator of version 22.
struct OrtAllocator {
  std::uint32_t version = ort_version;
  void* (*allocate)(OrtAllocator* self, std::size_t bytes) = nullptr;
  void (*release)(OrtAllocator* self, void* block) = nullptr;
  const void* (*info)(const OrtAllocator* self) = nullptr;
  // For what lives as long as a session.
  void* (*reserve)(OrtAllocator* self, std::size_t bytes) = nullptr;
};

// An error, or null; the places of functions in OrtApi, and their types.
using OrtStatus = void*;
using GetErrorMessage = const char* (*)(OrtStatus status);
using CreateEnv = OrtStatus (*)(int severity, const char* name, void** environment);
using CreateMemoryInfo = OrtStatus (*)(const char* name, int type, int id, int memory, void** info);
using ReleaseStatus = void (*)(OrtStatus status);
using RegisterAllocator = OrtStatus (*)(void* environment, OrtAllocator* allocator);
inline constexpr std::size_t get_error_message_at = 2;
inline constexpr std::size_t create_env_at = 3;
inline constexpr std::size_t create_memory_info_at = 68;
inline constexpr std::size_t release_status_at = 93;
inline constexpr std::size_t register_allocator_at = 176;

inline constexpr int severity_error = 3;    // ORT_LOGGING_LEVEL_ERROR
inline constexpr int device_allocator = 0;  // OrtDeviceAllocator: without an arena above it.
inline constexpr int default_memory = 0;    // OrtMemTypeDefault

}  // namespace headroom::onnx_face
