// SPDX-License-Identifier: Apache-2.0
// The header of NumPy's .npy files, versions 1.0 to 3.0 (numpy/lib/format.py): a magic string, the
// version, a length, and a dictionary in Python's syntax, which is read here and never evaluated.
#pragma once

#include "base/random_access.h"
#include "base/result.h"
#include "tokens/token_layout.h"

namespace headroom::tokens {

// Longer ones are refused; NumPy pads to 64 bytes, and refuses to read more than 10,000.
inline constexpr std::uint64_t largest_npy_header_bytes = std::uint64_t{64} << 10U;

// An array of token ids in C order: one stream, or rows of them. Fails, with what was found, on a
// header that is no such dictionary, on other element types (pickled objects, fields and big-endian
// numbers among them), on Fortran's order, on no dimension and on more than two, and on a file that
// is not exactly as long as its header says.
Result<TokenLayout> read_npy_layout(const RandomAccess& file);

}  // namespace headroom::tokens
