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

// Length from `offset` on of the zstd frames (RFC 8878) or of the lz4 blocks ("legacy" format:
// lz4's doc/lz4_Frame_format.md) that begin there; nullopt for the other compressions. Fails with
// invalid where the framing is cut short or makes no sense.
Result<std::optional<std::uint64_t>> compressed_length(Compression compression,
                                                       const RandomAccess& packed,
                                                       std::uint64_t offset);

}  // namespace headroom::machine
