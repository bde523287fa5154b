// SPDX-License-Identifier: Apache-2.0
// How many threads share the work is no part of what is computed: a run may be resumed with others.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "trainer/ops/product.h"
#include "trainer/ops/shared_rows.h"
#include "trainer/testing/tiny_job.h"

namespace headroom::trainer {
namespace {

class Threads : public ::testing::Test {
 protected:
  ~Threads() override { at::set_num_threads(before_); }

 private:
  int before_ = at::get_num_threads();
};

// Large enough that threads share every pass; biases, since it is a qwen2.
constexpr const char* wide_config =
    R"({"model_type":"qwen2","hidden_size":192,"intermediate_size":320,"num_hidden_layers":2,)"
    R"("num_attention_heads":4,"num_key_value_heads":2,"vocab_size":257,"rms_norm_eps":1e-6,)"
    R"("tie_word_embeddings":true,"initializer_range":0.02})";

std::string train_with(int threads, const std::vector<std::string>& changes) {
  at::set_num_threads(threads);
  testing::TinyJob job;
  job.folder.write("config.json", wide_config);
  std::string text;
  for (int i = 0; i < 12; ++i) text += std::string(testing::tiny_text);
  for (std::size_t at = text.find("\n\n"); at != std::string::npos; at = text.find("\n\n"))
    text.replace(at, 2, " ");
  job.folder.write("text.txt", text);
  const auto request = job.request(changes);
  EXPECT_TRUE(request) << request.error().message;
  testing::RecordingObserver observer;
  const auto outcome = train(*request, observer);
  EXPECT_TRUE(outcome) << outcome.error().message;
  EXPECT_TRUE(outcome->status) << outcome->status.error().message;
  EXPECT_GE(observer.steps.size(), 2U);
  return job.folder.read("out/checkpoint/state.safetensors");
}

TEST_F(Threads, a_run_ends_with_the_same_bytes_whatever_their_number) {
  for (const char* attention : {"efficient", "math"}) {
    const std::vector<std::string> changes = {
        "batch.sequence=320", "data.epochs=1", "device.capacity=\"256MiB\"",
        "optimizer.max_grad_norm=1.0", std::string("compute.attention=\"") + attention + "\""};
    const std::string alone = train_with(1, changes);
    EXPECT_FALSE(alone.empty());
    EXPECT_TRUE(alone == train_with(2, changes)) << attention;
    EXPECT_TRUE(alone == train_with(5, changes)) << attention;
  }
}

TEST_F(Threads, rows_are_shared_by_as_many_as_there_are) {
  at::set_num_threads(2);
  constexpr std::int64_t rows = 64;
  std::mutex mutex;
  std::set<std::thread::id> workers;
  ops::share_rows(rows, ops::worth_sharing, [&](std::int64_t, std::int64_t) {
    const std::lock_guard lock(mutex);
    workers.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(workers.size(), 2U);
}

TEST_F(Threads, every_optimizer_moves_alike) {
  for (const char* kind : {"adamw8bit", "sgd", "adafactor"}) {
    for (const char* dtype : {"fp32", "bf16"}) {
      const std::vector<std::string> changes = {"batch.sequence=320", "data.epochs=1",
                                                "device.capacity=\"256MiB\"",
                                                std::string("optimizer.kind=\"") + kind + "\"",
                                                std::string("compute.dtype=\"") + dtype + "\""};
      const std::string alone = train_with(1, changes);
      EXPECT_FALSE(alone.empty());
      EXPECT_TRUE(alone == train_with(3, changes)) << kind << " " << dtype;
    }
  }
}

TEST_F(Threads, a_product_is_the_same_to_the_bit) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    const at::Tensor left = at::randn({700, 300}).to(dtype);
    const at::Tensor right = at::randn({300, 600}).to(dtype);
    at::set_num_threads(1);
    const at::Tensor alone = ops::product(left, right);
    at::set_num_threads(3);
    EXPECT_TRUE(at::equal(alone, ops::product(left, right))) << dtype;
  }
}

}  // namespace
}  // namespace headroom::trainer
