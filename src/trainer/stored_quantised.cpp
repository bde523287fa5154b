// SPDX-License-Identifier: Apache-2.0
#include "trainer/stored_quantised.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/document.h"
#include "trainer/quantised/blockwise.h"
#include "trainer/quantised/code_tables.h"
#include "trainer/quantised/quant_state.h"
#include "trainer/torch_memory.h"

namespace headroom::trainer {
namespace {

using allocator::Component;
using estimate::WeightFormat;

constexpr const char* state_key = ".quant_state.bitsandbytes__nf4";

// "….q_proj.weight" → "….q_proj.SCB"
std::string name_beside(const std::string& weight, const char* other) {
  return weight.substr(0, weight.rfind('.') + 1) + other;
}

std::string_view torch_name(at::ScalarType dtype) {
  return dtype == at::kBFloat16 ? "bfloat16" : dtype == at::kHalf ? "float16" : "float32";
}

at::ScalarType parse_torch_name(std::string_view name) {
  return name == "bfloat16" ? at::kBFloat16 : name == "float16" ? at::kHalf : at::kFloat;
}

template <std::size_t count>
at::Tensor make_tensor(const std::array<float, count>& values) {
  return at::tensor(at::ArrayRef<float>(values.data(), count), at::kFloat);
}

at::Tensor read_new(const Place& place, at::ScalarType dtype, Status& status) {
  const TagScope scope(Component::workspace);
  at::Tensor into = at::empty(place.entry().shape, dtype);
  status = place.file->read(place.name, into);
  return into;
}

// Its numbers may differ in their last bits: they are what the writer's processor made of a sum.
template <std::size_t count>
Status check_table(const Place& place, const std::array<float, count>& expected) {
  constexpr double nearly = 1e-6;
  Status status = Done{};
  const at::Tensor found = read_new(place, at::kFloat, status);
  HEADROOM_CHECK(std::move(status));
  for (std::size_t i = 0; i < count; ++i) {
    const float value = found.data_ptr<float>()[i];
    if (std::abs(static_cast<double>(value) - static_cast<double>(expected[i])) <= nearly) continue;
    return Error{Errc::unsupported,
                 fmt::format("{}: tensor {}: expected {} for code {}, found {}", place.file->path(),
                             place.name, expected[i], i, value),
                 "quantise the model again with bitsandbytes' NF4 in blocks of 64"};
  }
  return Done{};
}

Status read_state(const Place& place, QuantisedMatrix& into) {
  Status status = Done{};
  const at::Tensor bytes = read_new(place, at::kByte, status);
  HEADROOM_CHECK(std::move(status));
  const auto state = quantised::parse_quant_state(
      {static_cast<const char*>(bytes.data_ptr()), static_cast<std::size_t>(bytes.numel())});
  const std::string where = fmt::format("{}: tensor {}", place.file->path(), place.name);
  if (!state) return Error(state.error()).in(where);
  const bool nested = into.format() == WeightFormat::nf4_dq;
  if (state->rows != into.rows() || state->columns != into.columns() ||
      state->nested_offset.has_value() != nested) {
    return Error{
        Errc::invalid,
        fmt::format("{}: expected shape [{}, {}] {} nested_offset, found [{}, {}] {}", where,
                    into.rows(), into.columns(), nested ? "with" : "without", state->rows,
                    state->columns, state->nested_offset ? "with" : "without"),
        "use the config.json that came with the weights"};
  }
  into.set_dtype(parse_torch_name(state->dtype));
  if (nested) into.set_offset(*state->nested_offset);
  return Done{};
}

}  // namespace

std::optional<WeightFormat> stored_format(const Places& places, const std::string& name) {
  const auto place = places.find(name);
  if (place == places.end() || !name.ends_with(".weight")) return std::nullopt;
  if (places.contains(name_beside(name, "SCB")) || place->second.entry().dtype == "I8")
    return WeightFormat::int8;
  const auto scales = places.find(name + ".absmax");
  if (scales == places.end() && place->second.entry().dtype != "U8") return std::nullopt;
  const bool nested = scales != places.end() && scales->second.entry().dtype == "U8";
  return nested ? WeightFormat::nf4_dq : WeightFormat::nf4;
}

std::vector<StoredPart> stored_parts(const std::string& name, const QuantisedMatrix& matrix) {
  const std::vector<std::int64_t> scales = matrix.scales().sizes().vec();
  if (matrix.format() == WeightFormat::int8)
    return {{name, "I8", {matrix.rows(), matrix.columns()}},
            {name_beside(name, "SCB"), "F32", scales}};
  const bool nested = matrix.format() == WeightFormat::nf4_dq;
  std::vector<StoredPart> parts = {{name, "U8", matrix.packed().sizes().vec()},
                                   {name + ".absmax", nested ? "U8" : "F32", scales},
                                   {name + ".quant_map", "F32", {quantised::nf4_values.size()}},
                                   {name + state_key, "U8", {}}};
  if (!nested) return parts;
  parts.push_back({name + ".nested_absmax", "F32", matrix.nested().sizes().vec()});
  parts.push_back({name + ".nested_quant_map",
                   "F32",
                   {static_cast<std::int64_t>(quantised::dynamic_map().size())}});
  return parts;
}

Status read_quantised(const Places& places, const std::string& name, QuantisedMatrix& into) {
  const auto read = [&](const std::string& part, const at::Tensor& tensor) {
    const Place& place = places.at(part);
    return place.file->read(place.name, tensor);
  };
  HEADROOM_CHECK(read(name, into.packed()));
  if (into.format() == WeightFormat::int8) return read(name_beside(name, "SCB"), into.scales());
  HEADROOM_CHECK(read(name + ".absmax", into.scales()));
  HEADROOM_CHECK(check_table(places.at(name + ".quant_map"), quantised::nf4_values));
  HEADROOM_CHECK(read_state(places.at(name + state_key), into));
  if (into.format() == WeightFormat::nf4) return Done{};
  HEADROOM_CHECK(check_table(places.at(name + ".nested_quant_map"), quantised::dynamic_map()));
  return read(name + ".nested_absmax", into.nested());
}

Status quantise_stored(const Place& place, at::ScalarType dtype, bool stored_by_input,
                       QuantisedMatrix& into) {
  constexpr std::int64_t piece_numbers = std::int64_t{1} << 20U;
  constexpr std::int64_t block = quantised::nf4_block;  // So many rows are whole blocks.
  const TagScope scope(Component::workspace);
  at::Tensor whole;
  if (stored_by_input) {
    whole = at::empty({into.columns(), into.rows()}, dtype);
    HEADROOM_CHECK(place.file->read(place.name, whole));
  }
  Quantiser quantiser(into);
  const std::int64_t most = std::max(block, piece_numbers / into.columns() / block * block);
  for (std::int64_t first = 0; first < into.rows(); first += most) {
    const std::int64_t rows = std::min(most, into.rows() - first);
    if (stored_by_input) {
      quantiser.add(whole.narrow(1, first, rows).t().contiguous());
      continue;
    }
    const at::Tensor piece = at::empty({rows, into.columns()}, dtype);
    HEADROOM_CHECK(place.file->read_part(place.name, first * into.columns(), piece));
    quantiser.add(piece);
  }
  quantiser.finish();
  into.set_dtype(dtype);
  return Done{};
}

void add_parts(const std::string& name, const QuantisedMatrix& matrix,
               std::vector<NamedTensor>& tensors) {
  tensors.push_back({name, matrix.packed()});
  if (matrix.format() == WeightFormat::int8) {
    tensors.push_back({name_beside(name, "SCB"), matrix.scales()});
    tensors.push_back({name_beside(name, "weight_format"), at::zeros({}, at::kByte)});
    return;
  }
  quantised::QuantState state{
      std::string(torch_name(matrix.dtype())), matrix.rows(), matrix.columns(), {}};
  const bool nested = matrix.format() == WeightFormat::nf4_dq;
  if (nested) state.nested_offset = matrix.offset();
  const std::string text = to_text(state);
  const at::Tensor bytes = at::empty({static_cast<std::int64_t>(text.size())}, at::kByte);
  std::copy(text.begin(), text.end(), bytes.data_ptr<std::uint8_t>());
  tensors.push_back({name + ".absmax", matrix.scales()});
  tensors.push_back({name + ".quant_map", make_tensor(quantised::nf4_values)});
  tensors.push_back({name + state_key, bytes});
  if (!nested) return;
  tensors.push_back({name + ".nested_absmax", matrix.nested()});
  tensors.push_back({name + ".nested_quant_map", make_tensor(quantised::dynamic_map())});
}

Json make_quantization_config(WeightFormat format, const std::string& compute) {
  const bool four = format != WeightFormat::int8;
  return {{"quant_method", "bitsandbytes"},
          {"load_in_4bit", four},
          {"load_in_8bit", !four},
          {"_load_in_4bit", four},
          {"_load_in_8bit", !four},
          {"bnb_4bit_compute_dtype", compute},
          {"bnb_4bit_quant_storage", "uint8"},
          {"bnb_4bit_quant_type", "nf4"},
          {"bnb_4bit_use_double_quant", format == WeightFormat::nf4_dq},
          {"llm_int8_enable_fp32_cpu_offload", false},
          {"llm_int8_has_fp16_weight", false},
          {"llm_int8_skip_modules", nullptr},
          {"llm_int8_threshold", 6.0}};
}

}  // namespace headroom::trainer
