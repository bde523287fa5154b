// SPDX-License-Identifier: Apache-2.0
#include "estimate/job_images.h"

#include <fmt/format.h>

#include "base/document.h"

namespace headroom::estimate {
namespace {

constexpr Range image_counts = {0, 1U << 12U};
constexpr Range pixels = {1, 1U << 14U};

}  // namespace

// LLaMA-Factory's words for the parts of a model that sees.
void read_frozen(TableReader& table, Job::Method& method) {
  const bool adapts = method.kind == MethodKind::lora || method.kind == MethodKind::qlora;
  method.freeze_vision_tower = method.freeze_projector = adapts;
  table.read("freeze_vision_tower", method.freeze_vision_tower);
  table.read("freeze_multi_modal_projector", method.freeze_projector);
  table.read("freeze_language_model", method.freeze_language_model);
  table.read("freeze_feature_encoder", method.freeze_feature_encoder);
  if (method.freeze_vision_tower && method.freeze_projector && method.freeze_language_model)
    table.fail("freeze_language_model", Errc::invalid,
               "expected a part that is trained, found all of them frozen",
               "leave one of the three out");
}

// image_size is one number, or height and width as transformers writes them.
void read_images(TableReader& table, Job::Batch& batch) {
  table.read("images_per_sample", batch.images_per_sample, image_counts);
  const Json* given = table.find("image_size");
  if (given == nullptr) return;
  const auto side = [](const Json& value) -> std::uint64_t {
    const auto whole = whole_number(value);
    return whole && *whole >= pixels.min && *whole <= pixels.max ? *whole : 0;
  };
  const bool both = given->is_array() && given->size() == 2;
  batch.image_height = side(both ? given->front() : *given);
  batch.image_width = side(both ? given->back() : *given);
  if (batch.image_height == 0 || batch.image_width == 0)
    table.fail("image_size", Errc::invalid,
               fmt::format("expected height and width from 1 to {} pixels, found {}", pixels.max,
                           given->dump(-1, ' ', true).substr(0, 60)),
               "write image_size = [448, 672]");
}

}  // namespace headroom::estimate
