// SPDX-License-Identifier: Apache-2.0
// PyTorch's own exceptions, thrown by a library that was built without PyTorch.
#pragma once

#include <string>

namespace headroom::torch_face {

// Throws c10::OutOfMemoryError, which Python sees as torch.OutOfMemoryError. It is built by the
// constructor, the virtual table and the type information that PyTorch's loaded libraries export:
//   from 2.5 on      all of it in libc10.so
//   before           the constructor of c10::Error in libc10.so, the rest in libc10_cuda.so or
//                    libc10_hip.so; up to 2.6 PyPI's wheels have the string of before C++11
// Throws std::runtime_error, which Python sees as RuntimeError, if they do not export enough.
[[noreturn]] void throw_out_of_memory(const std::string& text);

}  // namespace headroom::torch_face
