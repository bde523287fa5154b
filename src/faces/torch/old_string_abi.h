// SPDX-License-Identifier: Apache-2.0
// Calls of constructors that take a std::string, in its layout of before C++11 and in today's.
// libstdc++ has both, and one source file has one of them (_GLIBCXX_USE_CXX11_ABI).
#pragma once

#include <cstdint>

namespace headroom::torch_face {

// c10::SourceLocation (pytorch/pytorch: c10/util/Exception.h).
struct SourceLocation {
  const char* function;
  const char* file;
  std::uint32_t line;
};

// Calls `constructor`, which is one of c10::Error(SourceLocation, std::string), for the memory at
// `object`.
void construct_with_new_string(void* constructor, void* object, const char* text);
void construct_with_old_string(void* constructor, void* object, const char* text);

}  // namespace headroom::torch_face
