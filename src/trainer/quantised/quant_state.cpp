// SPDX-License-Identifier: Apache-2.0
#include "trainer/quantised/quant_state.h"

#include <fmt/format.h>

#include "base/document.h"
#include "trainer/quantised/blockwise.h"

namespace headroom::trainer::quantised {
namespace {

constexpr const char* again = "quantise the model again with bitsandbytes' NF4 in blocks of 64";

Error wrong(std::string_view key, const std::string& expected, const Json* found) {
  return {Errc::invalid,
          fmt::format("{}: expected {}, found {}", key, expected,
                      found == nullptr ? "nothing" : found->dump(-1, ' ', true).substr(0, 60)),
          again};
}

const Json* find(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

Status check(const Json& state, const char* key, const Json& expected) {
  const Json* found = find(state, key);
  if (found != nullptr && *found == expected) return Done{};
  return wrong(key, expected.dump(), found);
}

bool is_size(const Json& size) {
  constexpr std::int64_t most = std::int64_t{1} << 31;
  return size.is_number_integer() && size >= 1 && size <= most;
}

Status read_shape(const Json& json, QuantState& state) {
  const Json* shape = find(json, "shape");
  if (shape == nullptr || !shape->is_array() || shape->size() != 2 || !is_size((*shape)[0]) ||
      !is_size((*shape)[1]))
    return wrong("shape", "a matrix's rows and columns", shape);
  state.rows = (*shape)[0].get<std::int64_t>();
  state.columns = (*shape)[1].get<std::int64_t>();
  return Done{};
}

Status read_nested(const Json& json, QuantState& state) {
  const Json* offset = find(json, "nested_offset");
  if (offset == nullptr && find(json, "nested_blocksize") == nullptr) return Done{};
  if (offset == nullptr || !offset->is_number()) return wrong("nested_offset", "a number", offset);
  HEADROOM_CHECK(check(json, "nested_blocksize", scale_block));
  HEADROOM_CHECK(check(json, "nested_dtype", "float32"));
  state.nested_offset = offset->get<float>();
  return Done{};
}

}  // namespace

Result<QuantState> parse_quant_state(std::string_view text) {
  HEADROOM_TRY(const Json json, parse_json(text));
  if (!json.is_object()) return wrong("quant_state", "an object", &json);
  HEADROOM_CHECK(check(json, "quant_type", "nf4"));
  HEADROOM_CHECK(check(json, "blocksize", nf4_block));
  QuantState state;
  const Json* dtype = find(json, "dtype");
  if (dtype == nullptr || (*dtype != "float32" && *dtype != "bfloat16" && *dtype != "float16"))
    return wrong("dtype", "float32, bfloat16 or float16", dtype);
  state.dtype = dtype->get<std::string>();
  HEADROOM_CHECK(read_shape(json, state));
  HEADROOM_CHECK(read_nested(json, state));
  return state;
}

std::string to_text(const QuantState& state) {
  Json json = {{"quant_type", "nf4"},
               {"blocksize", nf4_block},
               {"dtype", state.dtype},
               {"shape", {state.rows, state.columns}}};
  if (state.nested_offset) {
    json["nested_blocksize"] = scale_block;
    json["nested_dtype"] = "float32";
    json["nested_offset"] = static_cast<double>(*state.nested_offset);
  }
  return json.dump();
}

}  // namespace headroom::trainer::quantised
