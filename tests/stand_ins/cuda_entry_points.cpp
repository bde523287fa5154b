// SPDX-License-Identifier: Apache-2.0
// A stand-in for libcuda: its functions by name. Programs ask for "cuMemAlloc" and get the newest
// version of it, cuMemAlloc_v2 (CUDA's documentation, "Driver Entry Point Access").
#include <dlfcn.h>

#include <string>

#include "stand_ins/cuda_driver.h"
#include "stand_ins/stand_in.h"

using namespace headroom::stand_ins;

namespace {

constexpr int symbol_found = 0;      // CU_GET_PROC_ADDRESS_SUCCESS
constexpr int symbol_not_found = 1;  // CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND
constexpr int no_such_symbol = 500;  // CUDA_ERROR_NOT_FOUND

void* find_here(const std::string& name) {
  Dl_info here{};
  if (::dladdr(reinterpret_cast<void*>(&cuInit), &here) == 0) return nullptr;
  void* library = ::dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  return library == nullptr ? nullptr : ::dlsym(library, name.c_str());
}

}  // namespace

extern "C" {

int cuGetProcAddress_v2(const char* name, void** function, int /*version*/, std::uint64_t /*flags*/,
                        int* found) {
  *function = nullptr;
  for (const char* ending : {"_v2", ""}) {
    if (*function == nullptr) *function = find_here(name + std::string(ending));
  }
  const bool is_found = *function != nullptr;
  if (found != nullptr) *found = is_found ? symbol_found : symbol_not_found;
  return is_found ? success : no_such_symbol;
}

int cuGetProcAddress(const char* name, void** function, int version, std::uint64_t flags) {
  return cuGetProcAddress_v2(name, function, version, flags, nullptr);
}

}  // extern "C"
