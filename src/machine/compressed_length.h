// SPDX-License-Identifier: Apache-2.0
// Where a compressed part ends, told from its own framing without unpacking it, for the formats
// whose unpacker stumbles over what follows.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "machine/byte_source.h"
#include "machine/decompressor.h"

namespace headroom::machine {

// Returns the length of the zstd frames (RFC 8878) or of the lz4 blocks (the "legacy" format in
// lz4/lz4: doc/lz4_Frame_format.md) that begin at `offset`; nullopt for other compressions. Fails
// with invalid if the framing is cut short or makes no sense.
Result<std::optional<std::uint64_t>> compressed_length(Compression compression,
                                                       const RandomAccess& packed,
                                                       std::uint64_t offset);

}  // namespace headroom::machine
