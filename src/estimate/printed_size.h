// SPDX-License-Identifier: Apache-2.0
// The size that a message about a failed allocation prints, and what it stands for. Two things were
// done to a tensor's size before it was printed: PyTorch asks the device for a segment (at least
// 10 MiB are rounded up to 2 MiB; allocator/models/torch_policy.h), and two decimals were kept, so
// that "3.99 GiB" stands for 3.985 to 3.995 GiB. Sizes in bytes may be padded, by up to 1 KiB.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace headroom::estimate {

struct PrintedSize {
  Bytes size;
  double precision =
      0;  // Bytes between it and the next size that could have been printed; 0: exact.

  // A tensor of so many bytes prints this, rounded to a segment or as it is.
  bool stands_for(std::uint64_t tensor_bytes) const;
  // The smallest and the largest tensor that print this, rounded or not.
  Bytes smallest() const;
  Bytes largest() const;
  // What PyTorch asks for whenever a tensor of less than 10 MiB is wanted: 2 or 20 MiB. Such a size
  // says nothing of the tensor.
  bool is_shared_segment() const;
};

// "3.99GiB", "3.99 GiB", "593.50 MiB", "4286582784". Without decimals, two are taken as meant:
// PyTorch and llama.cpp print them. Fails as parse_bytes does.
Result<PrintedSize> parse_printed_size(std::string_view text);

// As PyTorch prints a request for a tensor (c10/cuda/CUDACachingAllocator.cpp, format_size).
std::string to_printed(std::uint64_t tensor_bytes);

}  // namespace headroom::estimate
