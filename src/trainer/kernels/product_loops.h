// SPDX-License-Identifier: Apache-2.0
// The matrix product, after Goto and van de Geijn 2008: the right factor is packed in panels that
// lie in the second-level cache, a few rows of the left factor in the first, and a tile of the
// result stays in registers while both are read.
//
// Every element is added up over the inner dimension in its order, in one accumulator for each
// inner_block of it: the width of vectors and tiles does not show in the result. Included by the
// files that are compiled for one kind of processor each, hence no header of the standard library
// whose functions another file might share.
#pragma once

#include "trainer/kernels/vector.h"

namespace headroom::trainer::kernels {
// One copy for each of the files that include it, which are compiled with other options: they must
// not share one.
// NOLINTBEGIN(misc-definitions-in-headers)
namespace {

// Rows × vectors of a tile: as many as the registers hold.
#if defined(__AVX512F__)
constexpr std::int64_t tile_rows = 14;
constexpr std::int64_t tile_vectors = 2;
#elif defined(__AVX__)
constexpr std::int64_t tile_rows = 6;
constexpr std::int64_t tile_vectors = 2;
#else
constexpr std::int64_t tile_rows = 4;
constexpr std::int64_t tile_vectors = 2;
#endif
constexpr std::int64_t tile_columns = tile_vectors * lanes;
static_assert(panel_columns % tile_columns == 0 && tile_rows <= lanes);

float element(const MatrixView& matrix, std::int64_t offset) {
  if (!matrix.bf16) return static_cast<const float*>(matrix.data)[offset];
  return widen(static_cast<const std::uint16_t*>(matrix.data)[offset]);
}

// Panel `number` as [inner][panel_columns]; columns behind the last are zero.
void pack_panel(const MatrixView& right, const PackedShape& shape, std::int64_t number,
                float* packed) {
  const std::int64_t column = number * panel_columns;
  const std::int64_t count = smaller(panel_columns, shape.columns - column);
  const std::int64_t start = column * right.column_stride;
  if (count == panel_columns && right.column_stride == 1 && !right.bf16) {
    const float* from = static_cast<const float*>(right.data) + start;
    for (std::int64_t k = 0; k < shape.inner; ++k) {
      for (std::int64_t j = 0; j < panel_columns; ++j)
        packed[k * panel_columns + j] = from[k * right.row_stride + j];
    }
    return;
  }
  if (count == panel_columns && right.row_stride == 1 && !right.bf16) {
    const float* from = static_cast<const float*>(right.data) + start;
    for (std::int64_t j = 0; j < panel_columns; j += lanes)
      transpose_rows({from + j * right.column_stride, right.column_stride, lanes, shape.inner},
                     packed + j, panel_columns);
    return;
  }
  for (std::int64_t k = 0; k < shape.inner; ++k) {
    for (std::int64_t j = 0; j < count; ++j)
      packed[k * panel_columns + j] =
          element(right, start + k * right.row_stride + j * right.column_stride);
    for (std::int64_t j = count; j < panel_columns; ++j) packed[k * panel_columns + j] = 0;
  }
}

// Rows [row, row + count) as [inner][tile_rows]; what stands in rows behind the last means nothing,
// for it comes into no sum but their own. `packed` has room for `lanes` numbers more.
void pack_rows(const MatrixView& left, std::int64_t inner, std::int64_t row, std::int64_t count,
               float* packed) {
  const std::int64_t start = row * left.row_stride;
  const float* from = static_cast<const float*>(left.data) + start;
  if (!left.bf16 && left.column_stride == 1) {
    for (std::int64_t i = 0; i < count; i += lanes)
      transpose_rows(
          {from + i * left.row_stride, left.row_stride, smaller(lanes, count - i), inner},
          packed + i, tile_rows);
    return;
  }
  if (!left.bf16 && left.row_stride == 1 && count == tile_rows) {
    for (std::int64_t k = 0; k < inner; ++k) {
      for (std::int64_t i = 0; i < tile_rows; ++i)
        packed[k * tile_rows + i] = from[k * left.column_stride + i];
    }
    return;
  }
  for (std::int64_t k = 0; k < inner; ++k) {
    for (std::int64_t i = 0; i < count; ++i)
      packed[k * tile_rows + i] =
          element(left, start + i * left.row_stride + k * left.column_stride);
  }
}

struct Tile {
  Vector sums[tile_rows][tile_vectors];
};

// The sums of tile_rows packed rows times tile_columns columns of a panel.
inline __attribute__((always_inline)) void sum_tile(Tile& tile, const float* rows,
                                                    const float* panel, std::int64_t inner) {
  for (auto& row : tile.sums) {
    for (Vector& sum : row) sum = Vector{};
  }
  for (std::int64_t k = 0; k < inner; ++k) {
    Vector right[tile_vectors];
#pragma GCC unroll 8
    for (std::int64_t v = 0; v < tile_vectors; ++v)
      right[v] = load(panel + k * panel_columns + v * lanes);
#pragma GCC unroll 16
    for (std::int64_t i = 0; i < tile_rows; ++i) {
      const Vector left = spread(rows[k * tile_rows + i]);
#pragma GCC unroll 8
      for (std::int64_t v = 0; v < tile_vectors; ++v) tile.sums[i][v] += left * right[v];
    }
  }
}

struct Target {
  float* data;
  std::int64_t row_stride;
  std::int64_t rows;
  std::int64_t columns;
  Factors factors;
};

inline __attribute__((always_inline)) void write_whole(const Tile& tile, const Target& target) {
  for (std::int64_t i = 0; i < tile_rows; ++i) {
    for (std::int64_t v = 0; v < tile_vectors; ++v) {
      float* to = target.data + i * target.row_stride + v * lanes;
      const Vector part = tile.sums[i][v] * spread(target.factors.alpha);
      store(to, target.factors.beta == 0 ? part : load(to) + part);
    }
  }
}

inline __attribute__((noinline)) void write_part(const Tile& tile, const Target& target) {
  float sums[tile_rows][tile_columns];
  for (std::int64_t i = 0; i < tile_rows; ++i) {
    for (std::int64_t v = 0; v < tile_vectors; ++v) store(&sums[i][v * lanes], tile.sums[i][v]);
  }
  for (std::int64_t i = 0; i < target.rows; ++i) {
    float* to = target.data + i * target.row_stride;
    for (std::int64_t j = 0; j < target.columns; ++j) {
      const float part = sums[i][j] * target.factors.alpha;
      to[j] = target.factors.beta == 0 ? part : to[j] + part;
    }
  }
}

void multiply(const OutView& out, const MatrixView& left, const PackedPart& right, const Rows& all,
              const Factors& factors) {
  const PackedShape& shape = right.shape;
  alignas(64) float rows[tile_rows * inner_block + lanes] = {};
  for (std::int64_t row = all.first; row < all.end; row += tile_rows) {
    const std::int64_t count = smaller(tile_rows, all.end - row);
    pack_rows(left, shape.inner, row, count, rows);
    for (std::int64_t column = 0; column < shape.columns; column += tile_columns) {
      const float* panel =
          right.packed + column / panel_columns * shape.panel_elements() + column % panel_columns;
      Tile tile;
      sum_tile(tile, rows, panel, shape.inner);
      const Target target{out.data + row * out.row_stride + column, out.row_stride, count,
                          smaller(tile_columns, shape.columns - column), factors};
      if (target.rows == tile_rows && target.columns == tile_columns) {
        write_whole(tile, target);
      } else {
        const Tile copy = tile;  // What has an address does not stay in registers.
        write_part(copy, target);
      }
    }
  }
}

void pack(const MatrixView& right, const PackedShape& shape, std::int64_t first, std::int64_t end,
          float* packed) {
  for (std::int64_t number = first; number < end; ++number)
    pack_panel(right, shape, number, packed + number * shape.panel_elements());
}

}  // namespace
// NOLINTEND(misc-definitions-in-headers)
}  // namespace headroom::trainer::kernels
