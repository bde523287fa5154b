// SPDX-License-Identifier: Apache-2.0
#include "faces/torch/torch_errors.h"

#include <cxxabi.h>

#include <array>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <typeinfo>

#include "faces/gpu_runtime.h"
#include "faces/torch/old_string_abi.h"

namespace headroom::torch_face {

void construct_with_new_string(void* constructor, void* object, const char* text) {
  using Constructor = void (*)(void*, SourceLocation, std::string);
  reinterpret_cast<Constructor>(constructor)(
      object, {"headroom_torch_malloc", "libheadroom_torch.so", 0}, text);
}

namespace {

constexpr std::array libraries = {"libc10.so", "libc10_hip.so", "libc10_cuda.so"};

// Mangled as the Itanium C++ ABI says.
constexpr const char* type_information = "_ZTIN3c1016OutOfMemoryErrorE";
constexpr const char* virtual_table = "_ZTVN3c1016OutOfMemoryErrorE";

struct ConstructorName {
  const char* symbol;
  bool is_of_error;  // Of c10::Error, so that the virtual table still has to be set.
  bool has_old_string;
};

// The best first.
constexpr std::array<ConstructorName, 4> constructors = {{
    {"_ZN3c1016OutOfMemoryErrorC1ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traits"
     "IcESaIcEEE",
     false, false},
    {"_ZN3c105ErrorC1ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
     true, false},
    {"_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
     true, false},
    {"_ZN3c105ErrorC1ENS_14SourceLocationESs", true, true},
}};

// More than any version's c10::Error takes: three strings, a vector, a pointer or two.
constexpr std::size_t exception_bytes = 4096;
// An object's pointer to its virtual table points behind the offset and the type information.
constexpr std::size_t table_begins_at = 2 * sizeof(void*);

void* find(const char* symbol) {
  return faces::find_loaded(libraries.data(), libraries.size(), symbol);
}

// c10::Error begins with std::exception, so that its destructor is found by its virtual table.
void destroy(void* exception) {
  static_cast<std::exception*>(exception)->~exception();
}

void construct(const ConstructorName& name, void* constructor, void* exception,
               const std::string& text) {
  const auto call = name.has_old_string ? construct_with_old_string : construct_with_new_string;
  try {
    call(constructor, exception, text.c_str());
  } catch (...) {
    abi::__cxa_free_exception(exception);
    throw;
  }
}

}  // namespace

void throw_out_of_memory(const std::string& text) {
  auto* const type = static_cast<std::type_info*>(find(type_information));
  auto* const table = static_cast<char*>(find(virtual_table));
  for (const ConstructorName& name : constructors) {
    void* const constructor = find(name.symbol);
    if (type == nullptr || constructor == nullptr || (name.is_of_error && table == nullptr))
      continue;
    void* const exception = abi::__cxa_allocate_exception(exception_bytes);
    construct(name, constructor, exception, text);
    if (name.is_of_error) {
      char* const begin = table + table_begins_at;
      std::memcpy(exception, &begin, sizeof begin);
    }
    abi::__cxa_throw(exception, type, destroy);
  }
  throw std::runtime_error(text);
}

}  // namespace headroom::torch_face
