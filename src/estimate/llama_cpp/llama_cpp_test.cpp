// SPDX-License-Identifier: Apache-2.0
// What tests/plan/llama_cpp_logs.py cannot show with whole models: single rules of ggml's allocator
// and scheduler, options as people type them, and files that are wrong.
#include <gtest/gtest.h>

#include "base/document.h"
#include "estimate/files/testing/gguf_bytes.h"
#include "estimate/llama_cpp/graph_allocator.h"
#include "estimate/llama_cpp/llama_plan.h"
#include "estimate/llama_cpp/scheduler.h"

namespace headroom::estimate::llama {
namespace {

constexpr Sizes thousand = {1000, 1, 1, 1};

std::vector<std::uint64_t> reserved(Graph& graph, std::uint32_t backends) {
  SchedulerOptions options;
  options.backends = backends;
  const Schedule schedule = make_schedule(graph, options);
  return reserve(graph, schedule, std::vector<std::uint64_t>(backends, 128));
}

TEST(GraphAllocator, a_result_takes_the_place_of_an_operand_that_nobody_else_reads) {
  Graph graph;
  const TensorId input = graph.add_input(f32, thousand);
  const TensorId twice = graph.add(Op::scale, f32, thousand, {input});
  graph.expand(graph.add(Op::scale, f32, thousand, {twice}));
  EXPECT_EQ(reserved(graph, 1), (std::vector<std::uint64_t>{4096}));
}

TEST(GraphAllocator, a_view_is_never_taken_over) {
  Graph graph;
  const TensorId input = graph.add_input(f32, thousand);
  const TensorId view = graph.add_view(input, {10, 100, 1, 1});
  graph.expand(graph.add(Op::rope, f32, {10, 100, 1, 1}, {view}));
  EXPECT_EQ(reserved(graph, 1), (std::vector<std::uint64_t>{8192}));
}

TEST(GraphAllocator, an_output_stays_and_a_gap_is_used_again) {
  Graph graph;
  const TensorId input = graph.add_input(f32, thousand);
  const TensorId first = graph.add(Op::convert, f32, thousand, {input});
  const TensorId second = graph.add(Op::convert, f32, thousand, {first});
  graph.at(second).is_output = true;
  graph.expand(graph.add(Op::convert, f32, thousand, {second}));
  EXPECT_EQ(reserved(graph, 1), (std::vector<std::uint64_t>{8192}));
}

TEST(GraphAllocator, what_a_fused_operation_reads_is_kept_to_its_end) {
  for (const std::uint32_t gpus : {0U, 1U}) {
    Graph graph;
    const TensorId weight = graph.add_held(f32, thousand, 0, true);
    const TensorId made = graph.add(Op::mul_mat, f32, thousand, {weight});
    const TensorId scaled = graph.add(Op::mul, f32, thousand, {made, weight});
    const TensorId last = graph.add(Op::add, f32, thousand, {scaled, weight});
    graph.expand(last);
    graph.keep({{made}, last, false});
    // The CPU computes operations one by one, each in the place of the one before.
    EXPECT_EQ(reserved(graph, gpus + 1).front(), gpus == 0 ? 4096U : 8192U);
  }
}

TEST(Scheduler, a_pipeline_of_an_older_build_copies_only_inputs_that_are_read) {
  for (const bool copies_unread : {false, true}) {
    Graph graph;
    graph.expand(graph.add_input(f32, thousand));
    graph.expand(graph.add(Op::scale, f32, thousand, {graph.add_input(f32, thousand)}));
    SchedulerOptions options;
    options.copies = 4;
    options.copies_unread = copies_unread;
    const Schedule schedule = make_schedule(graph, options);
    // Both, four copies of one or of both, and the result.
    EXPECT_EQ(reserve(graph, schedule, {128}).front(), (copies_unread ? 9 : 6) * 4096U);
  }
}

TEST(Scheduler, a_gpu_copies_a_large_product_s_weight_from_the_host_but_not_a_small_one_s) {
  for (const std::uint64_t rows : {31U, 32U}) {
    Graph graph;
    const TensorId weight = graph.add_held(f32, {100, 1000, 1, 1}, 1, true);
    const TensorId input = graph.add_input(f32, {100, rows, 1, 1});
    graph.expand(graph.add(Op::mul_mat, f32, {1000, rows, 1, 1}, {weight, input}));
    const auto sizes = reserved(graph, 2);
    EXPECT_EQ(sizes[0] > 400'000, rows == 32) << rows;
  }
}

TEST(Options, are_taken_as_people_type_them) {
  const auto read = parse_options(
      {"-m", "m.gguf", "-ngl", "20", "-c", "8192", "-fa", "-ctk", "q8_0", "--tensor-split", "3,1",
       "-ot", "exps=CPU,blk\\.1\\.=CUDA1", "--n_cpu_moe", "4", "--port", "8080", "--jinja"});
  ASSERT_TRUE(read);
  const Options& options = read->options;
  EXPECT_EQ(options.gpu_layers, 20);
  EXPECT_EQ(options.context, 8192);
  EXPECT_EQ(options.flash_attention, Switch::on);
  EXPECT_EQ(options.cache_type_k, "q8_0");
  EXPECT_EQ(options.tensor_split, (std::vector<double>{3, 1}));
  EXPECT_EQ(options.overrides.size(), 2);
  EXPECT_EQ(options.cpu_moe_layers, 4);
  EXPECT_EQ(read->unread, (std::vector<std::string>{"--port", "--jinja"}));
}

TEST(Options, wrong_values_are_refused_and_named) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"-c", "many"},
                                                {"-c"},
                                                {"-ts", "a,b"},
                                                {"-sm", "tensor"},
                                                {"-np", "0"},
                                                {"-ot", "exps"},
                                                {"-b", "0"},
                                                {"-np", "257"},
                                                {"-c", "4294967296"},
                                                {"-ub", "4294967295"},
                                                {"-ngl", "some"}}) {
    const auto read = parse_options(words);
    ASSERT_FALSE(read) << words.front();
    EXPECT_TRUE(read.error().message.starts_with(words.front()));
  }
}

TEST(Options, a_job_s_keys_are_the_long_names_or_the_environment_s) {
  const auto read = read_options({{"kind", "llama.cpp"},
                                  {"n-gpu-layers", 20},
                                  {"LLAMA_ARG_CTX_SIZE", 4096},
                                  {"flash-attn", "off"},
                                  {"no-mmap", true}});
  ASSERT_TRUE(read);
  EXPECT_EQ(read->options.gpu_layers, 20);
  EXPECT_EQ(read->options.context, 4096);
  EXPECT_EQ(read->options.flash_attention, Switch::off);
  EXPECT_FALSE(read->options.mmap);
  EXPECT_FALSE(read_options({{"layers", 3}}));
}

Model tiny_model() {
  const std::string bytes = testing::tiny_llama().file();
  return *make_model(*read_gguf_header(MemoryBytes(bytes)));
}

TEST(Placement, a_tied_embedding_lies_on_the_host_and_where_the_output_is) {
  const Model model = tiny_model();
  const auto placement = place(model, {}, std::vector<Gpu>(2));
  ASSERT_TRUE(placement);
  EXPECT_TRUE(placement->duplicates_embedding);
  EXPECT_EQ(placement->weight_backend[0], placement->cpu());
  EXPECT_EQ(placement->output_backend, 1);
}

TEST(Placement, a_wrong_pattern_and_a_gpu_that_is_not_there_are_errors) {
  const Model model = tiny_model();
  Options options;
  options.overrides = {{"(", "CPU"}};
  EXPECT_FALSE(place(model, options, std::vector<Gpu>(1)));
  options.overrides = {{"exps", "CUDA7"}};
  EXPECT_FALSE(place(model, options, std::vector<Gpu>(1)));
}

TEST(Context, a_quantised_v_needs_flash_attention) {
  Options options;
  options.cache_type_v = "q8_0";
  options.flash_attention = Switch::off;
  EXPECT_FALSE(make_context(tiny_model(), options));
  options.flash_attention = Switch::on;
  EXPECT_TRUE(make_context(tiny_model(), options));
  options.cache_type_v = "q9";
  EXPECT_FALSE(make_context(tiny_model(), options));
}

TEST(LlamaPlan, what_fits_is_planned_with_the_same_sizes_again) {
  Options options;
  options.context = 65536;
  Gpu gpu;
  gpu.capacity_bytes = std::uint64_t{16} << 20U;
  const auto plan = make_llama_plan(tiny_model(), options, {gpu});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->fits, false);
  ASSERT_FALSE(plan->fitting.empty());
  const auto read = parse_options(plan->fitting.front().arguments);
  ASSERT_TRUE(read);
  options.context = read->options.context;
  const auto again = make_llama_plan(tiny_model(), options, {gpu});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->fits, true);
  EXPECT_EQ(again->memory.gpus[0].total(), plan->fitting.front().gpu_bytes.front());
}

}  // namespace
}  // namespace headroom::estimate::llama
