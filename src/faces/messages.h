// SPDX-License-Identifier: Apache-2.0
// What people and programs read when memory runs out under a program that nobody changed.
#pragma once

#include <headroom/allocator.h>

#include <cstdint>
#include <string>

namespace headroom::faces {

// Begins as PyTorch's own message does (pytorch/pytorch: c10/cuda/CUDACachingAllocator.cpp),
// because programs look for its words: Hugging Face's accelerate for " out of memory.". `runtime`
// is "CUDA" or "HIP", `report` what headroom_explain() says.
std::string out_of_memory_message(const std::string& runtime, std::uint64_t bytes, int device,
                                  const std::string& report);

// As PyTorch writes sizes: "512 bytes", "20.00 MiB".
std::string torch_size(std::uint64_t bytes);

// What headroom_explain() says of this thread's request that has just failed, or why it cannot.
std::string explain(headroom_allocator* allocator, std::uint64_t bytes, headroom_stream stream);

// Writes one line on standard error, at once, which a program's own output does not tear.
void say(std::string line);

}  // namespace headroom::faces
