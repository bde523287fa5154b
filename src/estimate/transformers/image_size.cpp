// SPDX-License-Identifier: Apache-2.0
// Sources: transformers' image_processing_qwen2_vl.py (smart_resize) and vision_utils.py
// (get_vision_window_index), image_processing_utils.py (select_best_resolution) and
// modeling_llava_next.py (unpad_image); the limits are those of the models'
// preprocessor_config.json.
#include "estimate/transformers/image_size.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace headroom::estimate {
namespace {

constexpr double pixels_min = 3136;      // min_pixels: 4 × 28 × 28
constexpr double pixels_max = 12845056;  // max_pixels: 16384 × 28 × 28

std::uint64_t whole(double factors) {
  return static_cast<std::uint64_t>(std::max(1.0, factors));
}

// Both sides in multiples of `factor`, the area within the limits.
PatchGrid smart_resize(double height, double width, double factor) {
  double rows = std::nearbyint(height / factor);
  double columns = std::nearbyint(width / factor);
  const double area = rows * columns * factor * factor;
  if (area > pixels_max) {
    const double by = std::sqrt(height * width / pixels_max);
    rows = std::floor(height / by / factor);
    columns = std::floor(width / by / factor);
  } else if (area < pixels_min) {
    const double by = std::sqrt(pixels_min / (height * width));
    rows = std::ceil(height * by / factor);
    columns = std::ceil(width * by / factor);
  }
  return {whole(rows), whole(columns)};
}

// The one that keeps most of the image, and wastes least beside it.
Input::Resolution best_resolution(const std::vector<Input::Resolution>& known, double height,
                                  double width) {
  Input::Resolution best = known.front();
  double best_kept = 0, best_wasted = HUGE_VAL;
  for (const Input::Resolution& size : known) {
    const auto tall = static_cast<double>(size.height);
    const auto wide = static_cast<double>(size.width);
    const double by = std::min(wide / width, tall / height);
    const double kept = std::min(std::floor(width * by) * std::floor(height * by), width * height);
    const double wasted = wide * tall - kept;
    if (kept < best_kept || (kept == best_kept && wasted >= best_wasted)) continue;
    best = size, best_kept = kept, best_wasted = wasted;
  }
  return best;
}

// Padding is on both sides, and as much on each.
std::uint64_t without_padding(std::uint64_t side, double kept) {
  constexpr double nearly = 1e-7;  // Python rounds to seven digits.
  const auto own = static_cast<std::uint64_t>(kept + nearly);
  return side - (side - std::min(own, side)) / 2 * 2;
}

// A side in windows: how many are whole, and what is left over.
std::array<Piece, 2> along(std::uint64_t length, std::uint64_t side) {
  return {{{side, length / side}, {length % side, length % side == 0 ? 0U : 1U}}};
}

}  // namespace

std::optional<Tiles> tiles_of(const Architecture& model, const Job& job) {
  const Input& input = model.stacks.front().input;
  if (input.resolutions.empty() || job.batch.image_height == 0) return std::nullopt;
  const auto height = static_cast<double>(job.batch.image_height);
  const auto width = static_cast<double>(job.batch.image_width);
  const Input::Resolution best = best_resolution(input.resolutions, height, width);
  const std::uint64_t side = input.image_size / input.patch_size;
  Tiles tiles{best.height / input.image_size, best.width / input.image_size, 0, 0};
  tiles.kept_rows = tiles.rows * side;
  tiles.kept_columns = tiles.columns * side;
  const auto rows = static_cast<double>(tiles.kept_rows);
  const auto columns = static_cast<double>(tiles.kept_columns);
  if (width / height > columns / rows)
    tiles.kept_rows = without_padding(tiles.kept_rows, height * columns / width);
  else
    tiles.kept_columns = without_padding(tiles.kept_columns, width * rows / height);
  return tiles;
}

PatchGrid patch_grid(const Architecture& model, const Job& job) {
  const Input& input = model.stacks.front().input;
  if (!input.resolutions.empty() && job.batch.image_height == 0) return {};
  if (input.frames == 0) {
    const std::uint64_t side = input.image_size / std::max<std::uint64_t>(1, input.patch_size);
    return {side, side};
  }
  if (job.batch.image_height == 0) return {};
  const auto factor = static_cast<double>(input.patch_size * input.merge);
  const PatchGrid merged = smart_resize(static_cast<double>(job.batch.image_height),
                                        static_cast<double>(job.batch.image_width), factor);
  return {merged.rows * input.merge, merged.columns * input.merge};
}

std::uint64_t image_tokens(const Architecture& model, const Job& job) {
  const std::optional<Tiles> tiles = tiles_of(model, job);
  if (tiles) return model.projector->tokens + tiles->tokens();
  if (model.projector->tokens > 0) return model.projector->tokens;
  const std::uint64_t merge = model.stacks.front().input.merge;
  return patch_grid(model, job).patches() / (merge * merge);
}

std::vector<Piece> pieces_of(const PatchGrid& grid, std::uint64_t merge, std::uint64_t side) {
  if (side == 0) return {{grid.patches(), 1}};
  std::vector<Piece> pieces;
  for (const Piece& row : along(grid.rows / merge, side))
    for (const Piece& column : along(grid.columns / merge, side))
      if (row.count * column.count > 0)
        pieces.push_back({row.length * column.length * merge * merge, row.count * column.count});
  return pieces;
}

}  // namespace headroom::estimate
