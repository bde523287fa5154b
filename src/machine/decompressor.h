// SPDX-License-Identifier: Apache-2.0
// What the kernel can unpack its first root from, unpacked as a stream by libarchive. The formats
// are recognised by the kernel's own magic numbers (kernel: lib/decompress.c).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "machine/byte_source.h"

namespace headroom::machine {

enum class Compression { gzip, bzip2, lzma, xz, lzo, lz4_legacy, zstd };

// By the first bytes; nullopt: none that the kernel knows.
std::optional<Compression> find_compression(std::string_view start);
std::string_view to_string(Compression compression);

class Decompressor : public ByteStream {
 public:
  // Unpacks what begins at `offset` of `packed`, which must outlive this. Fails with unsupported
  // where libarchive is not installed or was built without this compression. To read more than 4
  // GiB of what is unpacked fails with invalid.
  static Result<std::unique_ptr<Decompressor>> open(Compression compression,
                                                    const RandomAccess& packed,
                                                    std::uint64_t offset);
  // Passes over zero bytes, four at a time.
  virtual Status skip_zeros() = 0;
  // Where the packed bytes end and whatever comes next begins. Requires: read to the end.
  virtual std::uint64_t end_offset() const = 0;
};

}  // namespace headroom::machine
