// SPDX-License-Identifier: Apache-2.0
// Reads archives that strangers send. Only folders, files and links are taken out of them, only
// into the writer's own tree, and only so much: an archive that says otherwise is refused whole.
#pragma once

#include <cstdint>
#include <string>

#include "machine/tree_writer.h"

namespace headroom::machine {

// A captured machine has some thousand files and a few MiB.
struct UnpackLimits {
  std::uint64_t entries = 200'000;
  std::uint64_t total_bytes = std::uint64_t{512} << 20U;
};

// The file begins as a tar does, or as what gzip, xz or zstd wrote.
bool looks_like_archive(const std::string& path);

// A tar, plain or compressed with gzip, xz or zstd. Fails with unsupported where libarchive is not
// installed; with invalid on what is no tar, is cut short, holds devices, pipes or hard links,
// leads out of the tree, or exceeds the limits. Does not call out.finish().
Status unpack(const std::string& path, TreeWriter& out, const UnpackLimits& limits = {});

}  // namespace headroom::machine
