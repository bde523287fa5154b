// SPDX-License-Identifier: Apache-2.0
// Compiled with _GLIBCXX_USE_CXX11_ABI=0, without anything that has a std::string in its interface.
#include "faces/torch/old_string_abi.h"

#include <string>

namespace headroom::torch_face {

static_assert(_GLIBCXX_USE_CXX11_ABI == 0);

void construct_with_old_string(void* constructor, void* object, const char* text) {
  using Constructor = void (*)(void*, SourceLocation, std::string);
  reinterpret_cast<Constructor>(constructor)(
      object, {"headroom_torch_malloc", "libheadroom_torch.so", 0}, text);
}

}  // namespace headroom::torch_face
