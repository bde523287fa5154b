// SPDX-License-Identifier: Apache-2.0
#include "estimate/files/onnx_model.h"

#include <fmt/format.h>

#include <bit>
#include <set>
#include <utility>

#include "base/encoding.h"
#include "estimate/files/onnx_tensor.h"
#include "estimate/files/protobuf.h"

namespace headroom::estimate {
namespace {

constexpr std::uint64_t text_limit = std::uint64_t{256} << 20U;  // Of all that is kept.
constexpr std::uint64_t name_limit = 65536;
constexpr std::uint64_t fields_limit = 1U << 22U;  // Whatever becomes an object of ours.
constexpr std::uint64_t depth_limit = 16;          // Of graphs in nodes of graphs.
const char* const again = "give the path of an .onnx file; if it is one, download it again";

class OnnxReader {
 public:
  explicit OnnxReader(const RandomAccess& file) : cursor_(file, file.size(), text_limit) {}

  Result<OnnxModel> read() {
    bool has_graph = false;
    each_field(cursor_, [&](const ProtobufField& field) {
      if (field.number == 2 && field.is_part) model_.producer = text();
      if (field.number == 7 && field.is_part && !std::exchange(has_graph, true)) read_graph();
      if (field.number == 8 && field.is_part) read_opset();
    });
    if (cursor_.ok() && !has_graph)
      cursor_.fail("expected an ONNX model, found a file without a graph", again);
    finish();
    if (!cursor_.ok()) return cursor_.problem();
    return std::move(model_);
  }

 private:
  // The part that the cursor is in, as a text of UTF-8.
  std::string text() {
    std::string found = cursor_.read_text(cursor_.left(), name_limit, "a name");
    if (!is_utf8(found)) cursor_.fail("expected names in UTF-8, found other bytes", again);
    return found;
  }

  // Counts what is kept: memory stays bounded whatever the file says.
  bool count(std::uint64_t kept = 1) {
    fields_ += kept;
    if (fields_ > fields_limit) cursor_.fail("more nodes and values than any model has", again);
    return cursor_.ok();
  }

  void read_opset() {
    std::string domain;
    std::uint64_t version = 0;
    each_field(cursor_, [&](const ProtobufField& field) {
      if (field.number == 1 && field.is_part) domain = text();
      if (field.number == 2 && !field.is_part) version = field.value;
    });
    if (domain.empty() || domain == "ai.onnx") model_.opset = version;
  }

  void read_graph() {
    each_field(cursor_, [&](const ProtobufField& field) {
      if (!field.is_part) return;
      if (field.number == 1 && count()) model_.nodes.push_back(read_node(0));
      if (field.number == 5 && count()) add_weight(read_onnx_tensor(cursor_));
      if (field.number == 11 && count()) model_.inputs.push_back(read_value());
      if (field.number == 12 && count()) model_.outputs.push_back(read_value());
      if (field.number == 13 && count()) state(read_value());
      if (field.number == 15) refuse_sparse();
    });
  }

  void add_weight(OnnxTensor weight) {
    count(weight.values.size() + weight.shape.size());
    model_.weights.push_back(std::move(weight));
  }

  void refuse_sparse() {
    cursor_.fail("the file holds sparse weights, which this version cannot count",
                 "export the model with dense weights");
  }

  void state(OnnxValue value) {
    std::string name = value.name;
    model_.stated.insert_or_assign(std::move(name), std::move(value));
  }

  OnnxNode read_node(std::uint64_t depth) {
    OnnxNode node;
    each_field(cursor_, [&](const ProtobufField& field) {
      if (!field.is_part || !count()) return;
      if (field.number == 1) node.inputs.push_back(text());
      if (field.number == 2) node.outputs.push_back(text());
      if (field.number == 3) node.name = text();
      if (field.number == 4) node.op = text();
      if (field.number == 5) read_attribute(node, depth);
      if (field.number == 7) node.domain = text();
    });
    if (node.domain == "ai.onnx") node.domain.clear();
    return node;
  }

  void read_attribute(OnnxNode& node, std::uint64_t depth) {
    std::string name;
    OnnxAttribute value;
    each_field(cursor_, [&](const ProtobufField& field) {
      if (field.number == 1 && field.is_part) name = text();
      if (field.number == 2 && !field.is_part)
        value.real = std::bit_cast<float>(static_cast<std::uint32_t>(field.value));
      if (field.number == 3 && !field.is_part) value.whole = static_cast<std::int64_t>(field.value);
      if (field.number == 4 && field.is_part && cursor_.left() <= name_limit)
        value.text = cursor_.read_text(cursor_.left(), name_limit, "a text");
      if (field.number == 5 && field.is_part && count()) value.tensor = read_onnx_tensor(cursor_);
      if ((field.number == 6 || field.number == 11) && field.is_part)
        read_inner_graph(node, depth + 1);
      if (field.number == 7) add_onnx_reals(cursor_, field, value.reals);
      if (field.number == 8) add_onnx_wholes(cursor_, field, value.wholes);
    });
    count(value.wholes.size() + value.reals.size());
    if (value.tensor) count(value.tensor->values.size());
    node.attributes.insert_or_assign(std::move(name), std::move(value));
  }

  // Only what it uses of the graph around it matters: the names of its nodes' inputs and of its
  // outputs. Its own weights are weights of the model.
  void read_inner_graph(OnnxNode& outer, std::uint64_t depth) {
    if (depth > depth_limit) {
      cursor_.fail(fmt::format("graphs are nested deeper than {}", depth_limit), again);
      return;
    }
    each_field(cursor_, [&](const ProtobufField& field) {
      if (!field.is_part || !count()) return;
      if (field.number == 1) {
        OnnxNode inner = read_node(depth);
        for (auto* names : {&inner.inputs, &inner.inner_names})
          std::move(names->begin(), names->end(), std::back_inserter(outer.inner_names));
      }
      if (field.number == 5) {
        OnnxTensor weight = read_onnx_tensor(cursor_);
        weight.name = fmt::format("{}/{}", outer.name, weight.name);
        add_weight(std::move(weight));
      }
      if (field.number == 12) outer.inner_names.push_back(read_value().name);
    });
  }

  OnnxValue read_value() {
    OnnxValue value;
    each_field(cursor_, [&](const ProtobufField& field) {
      if (!field.is_part) return;
      if (field.number == 1) value.name = text();
      if (field.number != 2) return;
      each_field(cursor_, [&](const ProtobufField& kind) {
        if (kind.number == 1 && kind.is_part) read_tensor_type(value);
      });
    });
    return value;
  }

  void read_tensor_type(OnnxValue& value) {
    each_field(cursor_, [&](const ProtobufField& field) {
      if (field.number == 1 && !field.is_part) value.type = field.value;
      if (field.number != 2 || !field.is_part) return;
      value.shape.emplace();
      each_field(cursor_, [&](const ProtobufField& dimension) {
        if (dimension.number == 1 && dimension.is_part && count())
          value.shape->push_back(read_dimension());
      });
    });
  }

  // Exporters write an open size as a name, as nothing, as -1 or as 0.
  OnnxDimension read_dimension() {
    OnnxDimension dimension;
    each_field(cursor_, [&](const ProtobufField& field) {
      if (field.number == 1 && !field.is_part && field.value > 0 && field.value <= INT64_MAX)
        dimension.size = field.value;
      if (field.number == 2 && field.is_part) dimension.name = text();
    });
    return dimension;
  }

  // ONNX Runtime holds a constant's tensor as it holds a weight.
  void take_constants() {
    std::erase_if(model_.nodes, [&](OnnxNode& node) {
      const auto value = node.attributes.find("value");
      if (node.op != "Constant" || node.outputs.size() != 1 || value == node.attributes.end() ||
          !value->second.tensor)
        return false;
      value->second.tensor->name = node.outputs.front();
      add_weight(*std::move(value->second.tensor));
      return true;
    });
  }

  void finish() {
    take_constants();
    std::uint64_t bytes = 0;
    std::set<std::string_view> weights;
    for (const OnnxTensor& weight : model_.weights) {
      if (weight.bytes > INT64_MAX - bytes) cursor_.fail("its weights exceed 63 bits", again);
      if (!cursor_.ok()) return;
      bytes += weight.bytes;
      weights.insert(weight.name);
    }
    std::erase_if(model_.inputs,
                  [&](const OnnxValue& input) { return weights.contains(input.name); });
    for (const OnnxValue& output : model_.outputs) state(output);
  }

  Cursor cursor_;
  OnnxModel model_;
  std::uint64_t fields_ = 0;
};

}  // namespace

Result<OnnxModel> read_onnx_model(const RandomAccess& file) {
  return OnnxReader(file).read();
}

}  // namespace headroom::estimate
