// SPDX-License-Identifier: Apache-2.0
// What --resume goes on from: the same computation on the same data from a checkpoint that is byte
// for byte as it was written, and nothing else.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "base/text.h"
#include "trainer/checkpoint.h"
#include "trainer/kernels/kernels.h"
#include "trainer/safetensors_file.h"
#include "trainer/testing/plain_memory.h"
#include "trainer/testing/tiny_job.h"
#include "trainer/torch_memory.h"

namespace headroom::trainer {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::RecordingObserver;
using testing::ScratchFolder;
using testing::TinyJob;

using Changes = std::vector<std::string>;

constexpr const char* state_file = "out/checkpoint/state.safetensors";

// A job of two epochs, stopped after its first step.
void begin(const TinyJob& job, const Changes& changes = {}) {
  auto request = job.request(changes);
  ASSERT_TRUE(request) << request.error().message;
  RecordingObserver observer;
  observer.stop_after = 1;
  const auto outcome = train(*request, observer);
  ASSERT_TRUE(outcome) << outcome.error().message;
  ASSERT_FALSE(outcome->status);
}

struct Resumed {
  std::string refusal;  // Empty: it went on and finished.
  std::string next;
  std::vector<std::string> notes;
};

Resumed resume(const TinyJob& job, const Changes& changes = {}, const Changes& allowed = {}) {
  auto request = job.request(changes);
  if (!request) return {request.error().message, "", {}};
  request->resume = true;
  request->allowed_changes = allowed;
  RecordingObserver observer;
  const auto outcome = train(*request, observer);
  if (!outcome) return {outcome.error().message, outcome.error().next, observer.notes};
  EXPECT_TRUE(outcome->status) << outcome->status.error().message;
  return {"", "", observer.notes};
}

std::string with_config(const std::string& key_and_value) {
  return std::string(testing::tiny_config_json).insert(1, key_and_value + ",");
}

TEST(Resume, another_text_of_the_same_length_is_refused) {
  const TinyJob job;
  begin(job);
  std::string other = testing::tiny_text;
  other[0] = 'N';
  job.folder.write("text.txt", other);
  const Resumed resumed = resume(job);
  EXPECT_THAT(resumed.refusal, HasSubstr("checkpoint of another run: data.path: checksum"));
  EXPECT_FALSE(resumed.next.empty());
  job.folder.write("text.txt", testing::tiny_text);
  EXPECT_EQ(resume(job).refusal, "");
}

TEST(Resume, tokens_in_another_order_are_refused) {
  const TinyJob job;
  const Changes changes = {"data.path=\"ids.txt\"", "data.kind=\"tokens\"", "batch.micro=1"};
  job.folder.write("ids.txt", "1 2 3\n4 5 6\n");
  begin(job, changes);
  job.folder.write("ids.txt", "4 5 6\n1 2 3\n");
  EXPECT_THAT(resume(job, changes).refusal, HasSubstr("data.path: checksum of the tokens"));
}

TEST(Resume, a_config_that_computes_something_else_is_refused_by_its_key) {
  const TinyJob job;
  job.folder.write("config.json", with_config("\"rope_theta\":10000"));
  begin(job);
  job.folder.write("config.json", with_config("\"rope_theta\":500000"));
  EXPECT_THAT(resume(job).refusal,
              HasSubstr("rope_theta: expected 10000 as in the checkpoint, found 500000"));
  std::string config = testing::tiny_config_json;
  config.replace(config.find("1e-6"), 4, "1e-5");
  job.folder.write("config.json", config);
  EXPECT_THAT(resume(job).refusal,
              HasSubstr("rms_norm_eps: expected 1e-06 as in the checkpoint, found 1e-05"));
}

TEST(Resume, a_job_that_computes_something_else_is_refused_by_its_key) {
  const TinyJob job;
  begin(job);
  const std::pair<const char*, const char*> changes[] = {
      {"optimizer.learning_rate=1e-3", "optimizer.learning_rate: expected 0.005"},
      {"optimizer.weight_decay=0.5", "optimizer.weight_decay: expected 0.01"},
      {"data.seed=2", "data.seed: expected 1"},
      {"batch.micro=3", "batch.micro × batch.accumulate: expected 2"},
      {"batch.sequence=40", "batch.sequence: expected 48"},
      {"compute.dtype=\"bf16\"", "compute.dtype: expected fp32"},
      {"method.kind=\"lora\"", "method.kind: expected full"}};
  for (const auto& [change, difference] : changes) {
    const Resumed resumed = resume(job, {change});
    EXPECT_THAT(resumed.refusal, HasSubstr("checkpoint of another run"));
    EXPECT_THAT(resumed.refusal, HasSubstr(difference));
    EXPECT_FALSE(resumed.next.empty());
  }
}

TEST(Resume, an_adapter_of_another_shape_or_another_base_is_refused) {
  const TinyJob job;
  const Changes lora = {"method.kind=\"lora\"", "method.rank=4", "method.targets=[\"q\",\"v\"]",
                        "model.config=\"base\""};
  auto base = job.request({"data.epochs=1"});
  ASSERT_TRUE(base);
  base->output = job.folder.file("base");
  RecordingObserver observer;
  ASSERT_TRUE(train(*base, observer));
  begin(job, lora);
  for (const auto& [change, difference] :
       {std::pair{"method.alpha=9", "method.alpha: expected 8"},
        {"method.dropout=0.1", "method.dropout: expected 0"},
        {"method.targets=[\"q\",\"k\"]", "method.targets: expected q, v"}}) {
    Changes changed = lora;
    const std::string key = std::string(change).substr(0, std::string(change).find('=') + 1);
    std::erase_if(changed, [&](const std::string& line) { return line.starts_with(key); });
    changed.emplace_back(change);
    EXPECT_THAT(resume(job, changed).refusal, HasSubstr(difference));
  }
  std::string weights = job.folder.read("base/model.safetensors");
  weights[weights.size() - 3] = static_cast<char>(weights[weights.size() - 3] ^ 1);
  job.folder.write("base/model.safetensors", weights);
  EXPECT_THAT(resume(job, lora).refusal, HasSubstr("checksum of the frozen weights"));
  weights[weights.size() - 3] = static_cast<char>(weights[weights.size() - 3] ^ 1);
  job.folder.write("base/model.safetensors", weights);
  EXPECT_EQ(resume(job, lora).refusal, "");
}

// What a job that ran out of memory or of time changes, and where its files lie.
TEST(Resume, what_changes_nothing_that_is_computed_may_change) {
  for (const char* change :
       {"data.epochs=3", "device.capacity=\"64MiB\"", "compute.checkpointing=\"layer\"",
        "compute.loss=\"chunked\"", "compute.attention=\"math\""}) {
    const TinyJob job;
    begin(job);
    EXPECT_EQ(resume(job, {change}).refusal, "") << change;
  }
  const TinyJob job;
  begin(job);
  job.folder.write("moved/text.txt", testing::tiny_text);
  job.folder.write("config.json", with_config("\"torch_dtype\":\"float32\""));
  EXPECT_EQ(resume(job, {"batch.micro=1", "batch.accumulate=2", "data.path=\"moved\""}).refusal,
            "");
}

TEST(Resume, a_rate_may_change_where_that_is_said) {
  const TinyJob job;
  begin(job);
  const Changes slower = {"optimizer.learning_rate=1e-3"};
  EXPECT_THAT(resume(job, slower).next,
              HasSubstr("--resume --allow-change optimizer.learning_rate"));
  const Changes allowed = {"optimizer.learning_rate"};
  EXPECT_THAT(resume(job, {"optimizer.learning_rate=1e-3", "data.seed=2"}, allowed).refusal,
              AllOf(HasSubstr("data.seed"), Not(HasSubstr("learning_rate"))));
  EXPECT_EQ(resume(job, slower, allowed).refusal, "");
  EXPECT_EQ(resume(job, slower).refusal, "");  // From now on it is the checkpoint's.
}

TEST(Resume, a_schedule_that_ends_with_the_run_does_not_go_on_in_a_longer_one_unsaid) {
  const TinyJob job;
  const Changes cosine = {"optimizer.schedule=\"cosine\"", "optimizer.warmup_steps=1",
                          "optimizer.max_grad_norm=1"};
  begin(job, cosine);
  const auto with = [&](const char* change) {
    Changes changes = cosine;
    const std::string key = std::string(change).substr(0, std::string(change).find('=') + 1);
    std::erase_if(changes, [&](const std::string& line) { return line.starts_with(key); });
    changes.emplace_back(change);
    return changes;
  };
  const Resumed longer = resume(job, with("data.epochs=3"));
  EXPECT_THAT(longer.refusal, HasSubstr("optimizer.schedule: expected cosine over data.epochs = 2 "
                                        "as in the checkpoint, found cosine over data.epochs = 3"));
  EXPECT_THAT(longer.next, HasSubstr("--allow-change optimizer.schedule"));
  EXPECT_THAT(resume(job, with("optimizer.warmup_steps=2")).refusal,
              HasSubstr("optimizer.warmup_steps: expected 1"));
  EXPECT_THAT(resume(job, with("optimizer.max_grad_norm=2")).refusal,
              HasSubstr("optimizer.max_grad_norm: expected 1"));
  EXPECT_THAT(resume(job, {}).refusal, HasSubstr("optimizer.max_grad_norm: expected 1 as in the "
                                                 "checkpoint, found none"));
  EXPECT_EQ(resume(job, with("data.epochs=3"), {"optimizer.schedule"}).refusal, "");
}

TEST(Resume, a_checkpoint_from_before_there_were_schedules_goes_on_with_a_constant_rate) {
  const TinyJob job;
  const auto identity_of = [&](const Changes& changes) {
    const auto request = job.request(changes);
    return identify(request->settings, {*data::read_samples(request->settings.data), {}});
  };
  RunIdentity old = identity_of({});
  for (const char* key : {"optimizer.kind", "optimizer.schedule", "optimizer.warmup_steps",
                          "optimizer.max_grad_norm", "data.evaluation: checksum of the tokens"})
    ASSERT_EQ(old.erase(key), 1U);
  EXPECT_EQ(differences(old, identity_of({}), {}), std::vector<std::string>{});
  EXPECT_EQ(differences(old, identity_of({"optimizer.max_grad_norm=1"}), {}).size(), 1U);
  EXPECT_EQ(differences(old, identity_of({"optimizer.schedule=\"linear\""}), {}).size(), 1U);
}

TEST(Resume, every_optimizer_goes_on_to_the_same_bytes) {
  const std::vector<Changes> kinds = {
      {"optimizer.kind=\"adamw8bit\""},
      {"optimizer.master=\"fp32\"", "compute.dtype=\"bf16\""},
      {"optimizer.kind=\"sgd\""},
      {"optimizer.kind=\"sgd\"", "optimizer.momentum=0.9", "optimizer.nesterov=true"},
      {"optimizer.kind=\"adafactor\"", "optimizer.scale_parameter=true"},
      {"optimizer.kind=\"adafactor\"", "compute.dtype=\"bf16\"", "optimizer.weight_decay=0.1"}};
  for (const Changes& changes : kinds) {
    const TinyJob whole;
    const auto request = whole.request(changes);
    ASSERT_TRUE(request) << request.error().message;
    RecordingObserver observer;
    ASSERT_TRUE(train(*request, observer)->status);
    const TinyJob parts;
    begin(parts, changes);
    EXPECT_EQ(resume(parts, changes).refusal, "");
    for (const char* file : {state_file, "out/model.safetensors"})
      EXPECT_TRUE(whole.folder.read(file) == parts.folder.read(file)) << changes[0] << " " << file;
  }
}

TEST(Resume, another_optimizer_is_refused_by_its_name) {
  const TinyJob job;
  begin(job);
  EXPECT_THAT(resume(job, {"optimizer.kind=\"adafactor\""}).refusal,
              AllOf(HasSubstr("optimizer.kind: expected adamw as in the checkpoint, found "
                              "adafactor"),
                    Not(HasSubstr("beta1")), Not(HasSubstr("clip_threshold"))));
}

// The parts that load_checkpoint() fills, made once for many damaged files.
class DamagedCheckpoint : public ::testing::Test {
 protected:
  DamagedCheckpoint() {
    begin(job_);
    original_ = job_.folder.read(state_file);
    auto request = job_.request();
    const auto samples = data::read_samples(request->settings.data);
    identity_ = identify(request->settings, {*samples, {}});
    model_ = std::make_unique<Model>(request->settings.config, request->settings.model);
    optimizer_ = make_optimizer(model_->trainable(), request->settings.optimizer);
  }

  std::string refusal(const std::string& bytes) {
    const std::string path = job_.folder.write("state.safetensors", bytes);
    const auto loaded = load_checkpoint(path, *model_, *optimizer_, identity_);
    if (loaded) return "";
    EXPECT_FALSE(loaded.error().next.empty()) << loaded.error().message;
    return loaded.error().message;
  }

  std::size_t header_bytes() const {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < 8; ++i)
      bytes |= std::size_t{static_cast<unsigned char>(original_[i])} << (8 * i);
    return bytes + 8;
  }

  TinyJob job_;
  std::string original_;
  RunIdentity identity_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Optimizer> optimizer_;
};

TEST_F(DamagedCheckpoint, every_changed_byte_is_refused) {
  ASSERT_EQ(refusal(original_), "");
  std::mt19937 random(11);
  const auto below = [&](std::size_t limit) { return random() % limit; };
  const std::size_t header = header_bytes();
  for (int i = 0; i < 600; ++i) {
    const std::size_t place =
        i % 2 == 0 ? below(header) : header + below(original_.size() - header);
    std::string changed = original_;
    changed[place] = static_cast<char>(changed[place] ^ static_cast<char>(1 + below(255)));
    EXPECT_NE(refusal(changed), "") << "byte " << place;
  }
}

// Nobody has downloaded it.
TEST_F(DamagedCheckpoint, one_that_was_cut_short_is_to_be_put_back) {
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{5}, header_bytes() - 3, original_.size() - 1}) {
    const std::string path = job_.folder.write("state.safetensors", original_.substr(0, length));
    const auto loaded = load_checkpoint(path, *model_, *optimizer_, identity_);
    ASSERT_FALSE(loaded) << length;
    EXPECT_THAT(loaded.error().next, HasSubstr("put back a copy of it")) << length;
  }
}

TEST_F(DamagedCheckpoint, a_damaged_tensor_is_named) {
  std::string changed = original_;
  changed.back() = static_cast<char>(changed.back() ^ 0x40);
  EXPECT_THAT(refusal(changed), AllOf(HasSubstr("is damaged"), HasSubstr("optimizer.variance.")));
}

TEST_F(DamagedCheckpoint, bytes_that_trade_places_are_refused) {
  std::string changed = original_;
  const std::size_t header = header_bytes();
  const std::string first = changed.substr(header, 64);
  changed.replace(header, 64, changed.substr(changed.size() - 64))
      .replace(changed.size() - 64, 64, first);
  EXPECT_NE(refusal(changed), "");
}

TEST_F(DamagedCheckpoint, a_file_cut_anywhere_is_refused) {
  for (std::size_t part = 0; part < 40; ++part)
    EXPECT_NE(refusal(original_.substr(0, original_.size() * part / 40)), "") << part;
}

// Else a damaged format would switch the checksums off.
TEST_F(DamagedCheckpoint, one_with_checksums_does_not_pass_as_one_of_before_there_were_any) {
  std::string changed = original_;
  const std::string format = "headroom.checkpoint/2";
  changed.replace(changed.find(format), format.size(), "headroom.checkpoint/1");
  EXPECT_THAT(refusal(changed), HasSubstr("is damaged"));
}

// The job's checkpoint as the format's first version wrote it, and with `more` in its header.
void rewrite_without_checksums(const TinyJob& job, const std::map<std::string, std::string>& more) {
  const auto file = SafetensorsFile::open(job.folder.file(state_file));
  ASSERT_TRUE(file);
  std::map<std::string, std::string> metadata = {
      {"format", "headroom.checkpoint/1"}, {"seed", "1"}, {"samples_per_step", "2"}};
  for (const char* key : {"steps", "epoch", "sample", "samples"})
    metadata[key] = file->metadata().at(key);
  metadata["data_samples"] = file->metadata().at("run: data.path: samples");
  metadata["data_tokens"] = file->metadata().at("run: data.path: tokens");
  metadata.insert(more.begin(), more.end());
  std::vector<NamedTensor> tensors;
  for (const auto& [name, entry] : file->tensors()) {
    tensors.push_back({name, at::empty(entry.shape)});
    ASSERT_TRUE(file->read(name, tensors.back().tensor));
  }
  ASSERT_TRUE(write_safetensors(job.folder.file(state_file), tensors, metadata));
}

TEST(Resume, a_checkpoint_without_checksums_is_taken_and_that_is_said) {
  const TinyJob job;
  begin(job);
  rewrite_without_checksums(job, {});
  EXPECT_THAT(resume(job, {"data.seed=2"}).refusal, HasSubstr("seed: expected 1"));
  EXPECT_THAT(resume(job).notes, Contains(HasSubstr("has no checksums")));
  EXPECT_THAT(resume(job).notes, Not(Contains(HasSubstr("has no checksums"))));
}

TEST(Resume, a_checkpoint_of_another_kind_of_processor_is_taken_and_that_is_said) {
  const TinyJob job;
  begin(job);
  const std::string here = kernels::kernels().fused ? "true" : "false";
  EXPECT_EQ(SafetensorsFile::open(job.folder.file(state_file))->metadata().at("fused multiply-add"),
            here);
  rewrite_without_checksums(job, {{"fused multiply-add", here == "true" ? "false" : "true"}});
  EXPECT_THAT(resume(job).notes, Contains(HasSubstr("equal but for their rounding")));
  EXPECT_THAT(resume(job).notes, Not(Contains(HasSubstr("equal but for their rounding"))));
}

// A process killed while it writes leaves its half beside the checkpoint, which is as it was.
TEST(Resume, what_a_killed_run_has_left_half_written_goes_and_what_it_had_saved_stays) {
  const TinyJob job;
  begin(job);
  const std::string whole = job.folder.read(state_file);
  job.folder.write(std::string(state_file) + ".part-Ab3xYz", whole.substr(0, whole.size() / 3));
  job.folder.write(std::string(state_file) + ".backup", whole);
  job.folder.write("out/model.safetensors.part-000000", "x");
  EXPECT_EQ(resume(job).refusal, "");
  EXPECT_FALSE(std::filesystem::exists(job.folder.file(std::string(state_file) + ".part-Ab3xYz")));
  EXPECT_FALSE(std::filesystem::exists(job.folder.file("out/model.safetensors.part-000000")));
  EXPECT_TRUE(std::filesystem::exists(job.folder.file(std::string(state_file) + ".backup")));
}

}  // namespace
}  // namespace headroom::trainer
