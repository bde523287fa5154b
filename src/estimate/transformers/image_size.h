// SPDX-License-Identifier: Apache-2.0
// What becomes of an image's pixels before a model sees it: the patches of a tower that sees images
// of any size, and the pieces in which it attends to them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "estimate/job.h"
#include "estimate/models/architecture.h"

namespace headroom::estimate {

// Patches of one image, rows by columns.
struct PatchGrid {
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;

  std::uint64_t patches() const { return rows * columns; }
};

// The grid of the job's images or tiles, after the processor has rounded their size (smart_resize)
// or, of a tower for images of one size, brought them to that. Empty if the size matters and the
// job does not say it. Requires: the model has a tower of patches in front.
PatchGrid patch_grid(const Architecture& model, const Job& job);

// An image in tiles of the tower's size, beside the whole of it in one: how they lie, and the
// patches that are left where its own form ends.
struct Tiles {
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::uint64_t kept_rows = 0;
  std::uint64_t kept_columns = 0;

  std::uint64_t count() const { return rows * columns + 1; }
  // Of the tiles, with what ends each row.
  std::uint64_t tokens() const { return kept_rows * (kept_columns + 1); }
};

// Nothing for a model that has no tiles. Requires: as patch_grid.
std::optional<Tiles> tiles_of(const Architecture& model, const Job& job);

// Tokens that one image of the job takes among the text's. Requires: the model has a projector.
std::uint64_t image_tokens(const Architecture& model, const Job& job);

// So many runs of patches of that length, each attended to by itself.
struct Piece {
  std::uint64_t length = 0;
  std::uint64_t count = 0;
};

// Of one image in squares of `side` merged patches, smaller at its edges; whole if that is 0.
std::vector<Piece> pieces_of(const PatchGrid& grid, std::uint64_t merge, std::uint64_t side);

}  // namespace headroom::estimate
