// SPDX-License-Identifier: Apache-2.0
// A record as a tree that mirrors the machine, with its MANIFEST.json.
#pragma once

#include <cstddef>
#include <cstdint>

#include "machine/recording.h"
#include "machine/tree_writer.h"
#include "redact/stand_ins.h"

namespace headroom::capture {

struct Written {
  std::size_t files = 0;  // With their bytes; the manifest is not counted.
  std::size_t links = 0;
  std::size_t stand_ins = 0;  // Empty files: seen to be there, not read.
  std::uint64_t bytes = 0;
};

// Does not call writer.finish(). `counts` goes into the manifest, for who opens it by hand.
Result<Written> write_recording(const machine::Recording& recording, const redact::Counts& counts,
                                machine::TreeWriter& writer);

}  // namespace headroom::capture
