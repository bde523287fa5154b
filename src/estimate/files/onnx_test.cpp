// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "estimate/files/onnx_model.h"
#include "estimate/files/onnx_shapes.h"
#include "estimate/files/testing/onnx_bytes.h"

namespace headroom::estimate {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<OnnxModel> read(const std::string& bytes) {
  return read_onnx_model(MemoryBytes(bytes));
}

std::string error_of(const std::string& bytes) {
  const auto model = read(bytes);
  if (model) return "";
  EXPECT_FALSE(model.error().next.empty()) << model.error().message;
  return model.error().message;
}

// What one operator gives for inputs of these shapes (fp32) and further weights.
OnnxFact given_by(const Message& one, const std::vector<std::vector<OnnxSize>>& inputs,
                  const std::vector<Message>& weights = {}) {
  OnnxParts parts;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    parts.inputs.push_back(value_info("x" + std::to_string(i), inputs[i]));
  parts.weights = weights;
  parts.nodes = {one};
  const auto model = read(onnx_file(parts));
  EXPECT_TRUE(model) << (model ? "" : model.error().message);
  const auto shapes = infer_onnx_shapes(*model, {});
  EXPECT_TRUE(shapes) << (shapes ? "" : shapes.error().message);
  return shapes->facts.at("y");
}

OnnxShape shape_by(const Message& one, const std::vector<std::vector<OnnxSize>>& inputs,
                   const std::vector<Message>& weights = {}) {
  return given_by(one, inputs, weights).shape.value_or(OnnxShape{999});
}

TEST(Onnx, weights_are_counted_and_their_data_is_passed_over) {
  const auto model = read(onnx_file(tiny_detector()));
  ASSERT_TRUE(model) << model.error().message;
  const WeightFile weights = weights_of(*model);
  EXPECT_EQ(weights.bytes, 4U * (8 * 27 + 8 + 4 * 8 + 81920) + 2 * 8);
  EXPECT_EQ(weights.bytes_by_type().at("INT64"), 16U);
  EXPECT_EQ(model->inputs.size(), 1U);
  EXPECT_EQ(model->nodes.size(), 9U);
  EXPECT_EQ(model->opset, 17U);
}

TEST(Onnx, shapes_follow_also_where_the_graph_computes_them) {
  const auto model = read(onnx_file(tiny_detector()));
  ASSERT_TRUE(model);
  OnnxBinding binding;
  binding.batch = 5;
  const auto shapes = infer_onnx_shapes(*model, binding);
  ASSERT_TRUE(shapes) << shapes.error().message;
  EXPECT_THAT(*shapes->facts.at("c").shape, ElementsAre(5, 8, 64, 64));
  EXPECT_THAT(*shapes->facts.at("flat").shape, ElementsAre(5, 8192));
  EXPECT_THAT(*shapes->facts.at("scores").shape, ElementsAre(5, 10));
  EXPECT_TRUE(shapes->unknown.empty());
  EXPECT_THAT(shapes->assumed, ElementsAre("its size \"batch\" is batch.micro = 5"));
}

TEST(Onnx, windows_move_as_the_operators_say) {
  const auto conv = [](const std::vector<Message>& attributes) {
    return shape_by(node("Conv", {"x0", "w"}, {"y"}, attributes), {{1, 4, 57, 57}},
                    {weight("w", {6, 4, 3, 3})});
  };
  EXPECT_THAT(conv({}), ElementsAre(1, 6, 55, 55));
  EXPECT_THAT(conv({wholes_attribute("strides", {2, 2})}), ElementsAre(1, 6, 28, 28));
  EXPECT_THAT(conv({wholes_attribute("dilations", {4, 4})}), ElementsAre(1, 6, 49, 49));
  EXPECT_THAT(
      conv({part(1, "auto_pad") + part(4, "SAME_UPPER"), wholes_attribute("strides", {2, 2})}),
      ElementsAre(1, 6, 29, 29));
  EXPECT_THAT(shape_by(node("MaxPool", {"x0"}, {"y"},
                            {wholes_attribute("kernel_shape", {3, 3}),
                             wholes_attribute("strides", {2, 2}), whole_attribute("ceil_mode", 1)}),
                       {{1, 4, 56, 56}}),
              ElementsAre(1, 4, 28, 28));
  EXPECT_THAT(
      shape_by(node("ConvTranspose", {"x0", "w"}, {"y"}, {wholes_attribute("strides", {2, 2})}),
               {{1, 4, 10, 10}}, {weight("w", {4, 7, 2, 2})}),
      ElementsAre(1, 7, 20, 20));
}

TEST(Onnx, products_and_broadcasts_follow_numpy) {
  EXPECT_THAT(shape_by(node("MatMul", {"x0", "x1"}, {"y"}), {{2, 1, 5, 7}, {3, 7, 4}}),
              ElementsAre(2, 3, 5, 4));
  EXPECT_THAT(
      shape_by(node("Gemm", {"x0", "x1"}, {"y"}, {whole_attribute("transB", 1)}), {{5, 7}, {9, 7}}),
      ElementsAre(5, 9));
  EXPECT_THAT(shape_by(node("Add", {"x0", "x1"}, {"y"}), {{8, 1, 3}, {4, 1}}),
              ElementsAre(8, 4, 3));
  EXPECT_THAT(
      shape_by(node("Einsum", {"x0", "x1"}, {"y"}, {part(1, "equation") + part(4, "bid,bjd->bij")}),
               {{2, 3, 5}, {2, 4, 5}}),
      ElementsAre(2, 3, 4));
}

TEST(Onnx, layouts_and_selections_follow_the_operators) {
  EXPECT_THAT(shape_by(node("Transpose", {"x0"}, {"y"}, {wholes_attribute("perm", {0, 2, 1})}),
                       {{2, 3, 5}}),
              ElementsAre(2, 5, 3));
  EXPECT_THAT(shape_by(node("Reshape", {"x0", "to"}, {"y"}), {{2, 3, 4}},
                       {whole_numbers("to", {0, -1, 2})}),
              ElementsAre(2, 6, 2));
  EXPECT_THAT(shape_by(node("Slice", {"x0", "from", "to", "axes", "steps"}, {"y"}), {{2, 10}},
                       {whole_numbers("from", {-1}), whole_numbers("to", {INT64_MIN}),
                        whole_numbers("axes", {1}), whole_numbers("steps", {-3})}),
              ElementsAre(2, 4));
  EXPECT_THAT(shape_by(node("Gather", {"x0", "at"}, {"y"}, {whole_attribute("axis", 1)}),
                       {{2, 9, 4}}, {whole_numbers("at", {3, 1, 2})}),
              ElementsAre(2, 3, 4));
  EXPECT_THAT(
      shape_by(node("ReduceMean", {"x0"}, {"y"}, {wholes_attribute("axes", {-1})}), {{2, 3, 4}}),
      ElementsAre(2, 3, 1));
  EXPECT_THAT(shape_by(node("Split", {"x0"}, {"y", "z"}, {whole_attribute("axis", 1)}), {{2, 7}}),
              ElementsAre(2, 4));
  EXPECT_THAT(shape_by(node("Concat", {"x0", "x1"}, {"y"}, {whole_attribute("axis", -1)}),
                       {{2, 3}, {2, 5}}),
              ElementsAre(2, 8));
  EXPECT_THAT(shape_by(node("DepthToSpace", {"x0"}, {"y"}, {whole_attribute("blocksize", 2)}),
                       {{1, 8, 3, 3}}),
              ElementsAre(1, 2, 6, 6));
}

TEST(Onnx, an_open_size_that_the_job_does_not_say_is_asked_for) {
  OnnxParts parts;
  parts.inputs = {value_info("image", {1, 3, "height", ""})};
  const auto model = read(onnx_file(parts));
  ASSERT_TRUE(model);
  const auto open = infer_onnx_shapes(*model, {});
  ASSERT_FALSE(open);
  EXPECT_EQ(open.error().message, "input image has an open size: [1, 3, height, ?]");
  EXPECT_THAT(open.error().next, HasSubstr("shapes = { \"image\" = [1, 3, …, …] }"));
  OnnxBinding binding;
  binding.shapes = {{"image", {1, 3, 640, 480}}};
  EXPECT_THAT(*infer_onnx_shapes(*model, binding)->facts.at("image").shape,
              ElementsAre(1, 3, 640, 480));
  binding.shapes = {{"image", {1, 4, 640, 480}}};
  EXPECT_THAT(infer_onnx_shapes(*model, binding).error().message,
              HasSubstr("expected a shape like"));
  binding.shapes = {{"picture", {1}}};
  EXPECT_THAT(infer_onnx_shapes(*model, binding).error().message,
              HasSubstr("expected the inputs image"));
}

TEST(Onnx, what_is_not_known_is_named_and_what_the_file_states_is_taken) {
  OnnxParts parts;
  parts.inputs = {value_info("x", {2, 3})};
  parts.nodes = {node("Novelty", {"x"}, {"a"}), node("Novelty", {"x"}, {"b"})};
  parts.stated = {value_info("b", {4, 5})};
  const auto shapes = infer_onnx_shapes(*read(onnx_file(parts)), {});
  ASSERT_TRUE(shapes);
  EXPECT_THAT(shapes->unknown, ElementsAre("a of Novelty"));
  EXPECT_THAT(*shapes->facts.at("b").shape, ElementsAre(4, 5));
}

TEST(Onnx, sizes_beyond_64_bits_and_false_lengths_are_errors) {
  const std::uint64_t huge = std::uint64_t{1} << 40U;
  const auto with = [](const Message& tensor) {
    OnnxParts parts;
    parts.weights = {tensor};
    return onnx_file(parts);
  };
  const Message overflows = part(1, varint(huge) + varint(huge)) + number(2, 1) + part(8, "w");
  EXPECT_THAT(error_of(with(overflows)), HasSubstr("exceeds 63 bits"));
  const Message negative = part(1, varint(UINT64_MAX)) + number(2, 1) + part(8, "w");
  EXPECT_THAT(error_of(with(negative)), HasSubstr("expected a shape"));
  OnnxParts many;
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h", "i"}) {
    const std::uint64_t most = (std::uint64_t{1} << 60U) - 1;
    many.weights.push_back(part(1, varint(most)) + number(2, 2) + part(8, name));
  }
  EXPECT_THAT(error_of(onnx_file(many)), HasSubstr("its weights exceed 63 bits"));
  const Message shorter = part(1, varint(4)) + number(2, 1) + part(8, "w") + part(9, "xxx");
  EXPECT_THAT(error_of(with(shorter)), HasSubstr("expected 16 bytes"));
  const Message unknown = part(1, varint(4)) + number(2, 99) + part(8, "w");
  EXPECT_THAT(error_of(with(unknown)), HasSubstr("type 99"));
  EXPECT_THAT(error_of(""), HasSubstr("without a graph"));
  EXPECT_NE(error_of("this is no protobuf, but a text"), "");
}

TEST(Onnx, cut_off_at_every_byte_it_is_an_error) {
  OnnxParts parts = tiny_detector();
  parts.weights[6] = weight("head.weight", {64, 10});  // Not too long a file.
  const std::string whole = onnx_file(parts);
  const std::size_t tail = part(8, number(2, 17)).size();  // The graph is whole without it.
  for (std::size_t length = 0; length + tail < whole.size(); ++length)
    ASSERT_NE(error_of(whole.substr(0, length)), "") << length;
}

TEST(Onnx, graphs_nested_without_end_are_refused) {
  Message graph;
  for (int i = 0; i < 1000; ++i)
    graph = part(1, part(4, "If") + part(5, part(1, "then_branch") + part(6, graph)));
  EXPECT_THAT(error_of(part(7, graph)), HasSubstr("nested deeper"));
}

RC_GTEST_PROP(Onnx, any_damage_is_an_error_or_harmless, ()) {
  static const std::string good = onnx_file(tiny_detector());
  std::string bytes = good;
  for (int i = *rc::gen::inRange(1, 4); i > 0; --i) {
    // Mostly in the nodes, in front of the weights.
    const std::size_t at =
        *rc::gen::inRange<std::size_t>(0, *rc::gen::element<std::size_t>(700, bytes.size()));
    bytes[at] = *rc::gen::arbitrary<char>();
  }
  const auto model = read(bytes);
  if (!model) {
    RC_ASSERT(!model.error().next.empty());
    return;
  }
  RC_ASSERT(weights_of(*model).bytes <= INT64_MAX);
  const auto shapes = infer_onnx_shapes(*model, {});
  if (!shapes) {
    RC_ASSERT(!shapes.error().next.empty());
    return;
  }
  for (const auto& [name, fact] : shapes->facts) {
    if (fact.shape) RC_ASSERT(onnx_bytes(*fact.shape, fact.type).has_value());
  }
}

}  // namespace
}  // namespace headroom::estimate
