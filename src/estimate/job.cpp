// SPDX-License-Identifier: Apache-2.0
#include "estimate/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/document.h"
#include "base/document_reader.h"
#include "estimate/job_adapters.h"
#include "estimate/job_data.h"
#include "estimate/job_evaluation.h"
#include "estimate/job_images.h"
#include "estimate/job_liger.h"
#include "estimate/job_optimizer.h"
#include "estimate/job_preference.h"
#include "estimate/job_schedule.h"
#include "estimate/job_words.h"

namespace headroom::estimate {
namespace {

// The names stand in the order of the enums' values.
const std::vector<std::string> dtype_names = {"fp32", "bf16", "fp16"};
const std::vector<std::string> format_names = {"fp32",   "bf16",  "fp16",  "int8", "nf4",
                                               "nf4-dq", "gptq4", "gptq8", "awq4"};
const std::vector<std::string> method_names = {"full", "lora", "qlora", "inference"};
const std::vector<std::string> attention_names = {"math", "eager", "sdpa-mask", "efficient",
                                                  "flash"};
const std::vector<std::string> checkpointing_names = {"none", "layer", "selective", "auto"};
const std::vector<std::string> loss_names = {"eager", "triton", "fused-liger", "chunked",
                                             "linear-chunks"};
const std::vector<std::string> norm_names = {"eager", "fused"};
const std::vector<std::string> optimizer_names = {"adamw", "adamw8bit", "sgd", "adafactor"};
const std::vector<std::string> master_names = {"none", "fp32"};
const std::vector<std::string> engine_names = {"headroom", "transformers", "command"};
const std::vector<std::string> allocators = {"headroom", "torch", "torch-expandable"};

// Far above every job, and low enough that no product of a job's and a model's numbers overflows.
constexpr Range ranks = {1, 1U << 16U};
constexpr Range batches = {1, 1U << 20U};
constexpr Range sequences = {1, 1U << 24U};
constexpr Bytes least_capacity = 4_KiB;  // Less is a number without its unit.
constexpr Range stage_counts = {1, 16};  // As many ranks as a job has.
constexpr Range large_numbers = {1, std::uint64_t{1} << 40U};

template <class Enum>
std::string_view name_of(Enum value, const std::vector<std::string>& names) {
  return names.at(static_cast<std::size_t>(value));
}

class JobParser {
 public:
  explicit JobParser(const Document& document) : reader_(document, {.root = "the job"}) {}

  Result<Job> parse() {
    TableReader top = reader_.root();
    for (const char* name : {"model", "method", "compute", "optimizer", "batch", "engine", "device",
                             "data", "output"}) {
      top.find(name);
    }
    top.refuse_unknown();
    read_model();
    read_compute();  // Before method: the weights' dtype defaults to compute's.
    read_method();
    read_optimizer();
    read_batch();
    read_engine_and_device();
    read_data_and_output();
    HEADROOM_CHECK(reader_.finish());
    return job_;
  }

 private:
  TableReader table(const char* key) { return reader_.root().optional_table(key); }

  void read_model() {
    TableReader model = table("model");
    model.read("name", job_.model.name);
    const Json* config = model.find("config");
    if (config != nullptr && config->is_object()) {
      job_.model.config = std::make_shared<const Json>(*config);
    } else {
      model.read("config", job_.model.config_path);
    }
    read_shapes(model);
    model.refuse_unknown();
    if (!job_.model.name && config == nullptr) {
      model.fail("", Errc::invalid, "expected model.config or model.name, found neither",
                 "add [model] with config = \"folder with config.json\"");
    }
  }

  void read_shapes(TableReader& model) {
    const Json* shapes = model.find("shapes");
    if (shapes == nullptr) return;
    const auto is_size = [](const Json& size) {
      const auto whole = whole_number(size);
      return whole && *whole >= 1 && *whole <= large_numbers.max;
    };
    const auto is_shape = [&](const Json& shape) {
      return shape.is_array() && std::all_of(shape.begin(), shape.end(), is_size);
    };
    if (!shapes->is_object() || !std::all_of(shapes->begin(), shapes->end(), is_shape)) {
      model.fail("shapes", Errc::invalid,
                 fmt::format("expected the shape of each input by its name, found {}",
                             shapes->dump(-1, ' ', true).substr(0, 60)),
                 "write shapes = { \"input\" = [1, 3, 224, 224] }");
      return;
    }
    for (const auto& [name, shape] : shapes->items())
      job_.model.shapes[name] = shape.get<std::vector<std::uint64_t>>();
  }

  void read_compute() {
    TableReader compute = table("compute");
    compute.read_choice("dtype", job_.compute.dtype, dtype_names);
    compute.read("autocast", job_.compute.autocast);
    read_attention(compute);
    compute.read_choice("checkpointing", job_.compute.checkpointing, checkpointing_names);
    compute.read("activation_offloading", job_.compute.activation_offloading);
    compute.read("keep_outputs", job_.compute.keep_outputs);
    compute.read_choice("loss", job_.compute.loss, loss_names);
    compute.read_choice("norm", job_.compute.norm, norm_names);
    read_liger(compute, job_.compute.liger);
    job_.compute.residual = job_.compute.embeddings = job_.compute.dtype;
    compute.read_choice("residual", job_.compute.residual, dtype_names);
    compute.read_choice("embeddings", job_.compute.embeddings, dtype_names);
    job_.compute.given.residual = compute.find("residual") != nullptr;
    job_.compute.given.embeddings = compute.find("embeddings") != nullptr;
    compute.refuse_unknown();
  }

  // Our names of kernels and transformers' of implementations. A kernel that PyTorch would choose
  // becomes the one that takes a mask where samples are padded.
  void read_attention(TableReader& compute) {
    std::vector<std::string> names = attention_names;
    for (const AttentionWord& known : attention_words()) names.emplace_back(known.word);
    std::size_t chosen = names.size();
    compute.read_choice("attention", chosen, names);
    if (chosen < attention_names.size()) {
      job_.compute.attention = static_cast<Attention>(chosen);
    } else if (chosen < names.size()) {
      const AttentionWord& word = attention_words()[chosen - attention_names.size()];
      job_.compute.attention = word.attention;
      job_.compute.own_windows = word.own_windows;
    }
    job_.compute.given.attention = compute.find("attention") != nullptr;
    compute.read("padding", job_.compute.padding);
    job_.compute.by_pytorch = !job_.compute.attention;
    compute.read("use_reentrant", job_.compute.reentrant);
    const bool by_pytorch =
        !job_.compute.attention || *job_.compute.attention >= Attention::efficient;
    if (job_.compute.padding && by_pytorch && !job_.compute.own_windows)
      job_.compute.attention = Attention::sdpa_mask;
  }

  void read_method() {
    TableReader method = table("method");
    method.read_choice("kind", job_.method.kind, method_names);
    job_.method.base =
        job_.method.kind == MethodKind::qlora ? WeightFormat::nf4 : format_of(job_.compute.dtype);
    method.read_choice("base", job_.method.base, format_names);
    job_.compute.given.base = method.find("base") != nullptr;
    method.read("rank", job_.method.rank, ranks);
    job_.method.alpha = 2.0 * static_cast<double>(job_.method.rank);
    method.read("alpha", job_.method.alpha, 0.0, 1e9);
    method.read("dropout", job_.method.dropout, 0.0, 0.99);
    read_adapted_modules(method, job_.method);
    method.read_choice("adapter_dtype", job_.method.adapter_dtype, dtype_names);
    read_frozen(method, job_.method);
    read_preference_method(method, job_);
    read_group_size(method, job_.method);
    method.refuse_unknown();
    check_base(method);
  }

  void check_base(TableReader& method) {
    const bool plain = plain_type(job_.method.base).has_value();
    const auto refuse = [&](const char* wanted, const char* next) {
      method.fail("base", Errc::invalid,
                  fmt::format("expected {}, found \"{}\"", wanted, to_string(job_.method.base)),
                  next);
    };
    if (job_.method.kind == MethodKind::full && !plain)
      refuse("fp32, bf16 or fp16 for what is trained in full",
             "write kind = \"qlora\", or base = \"bf16\"");
    if (job_.method.kind == MethodKind::qlora && plain)
      refuse("quantised weights", "write base = \"nf4\", or kind = \"lora\"");
  }

  void read_optimizer() {
    TableReader optimizer = table("optimizer");
    read_optimizer_kind(optimizer);
    optimizer.read("foreach", job_.optimizer.foreach);
    optimizer.read("fused", job_.optimizer.fused);
    optimizer.read("offload", job_.optimizer.offload);
    optimizer.read_choice("master", job_.optimizer.master, master_names);
    read_schedule(optimizer, job_.optimizer);
    read_optimizer_rates(optimizer, job_.optimizer);
    optimizer.refuse_unknown();
  }

  void read_optimizer_kind(TableReader& optimizer) {
    std::vector<std::string> names = optimizer_names;
    for (const OptimizerWord& known : optimizer_words()) names.emplace_back(known.word);
    std::size_t chosen = names.size();
    optimizer.read_choice("kind", chosen, names);
    if (chosen < optimizer_names.size()) {
      job_.optimizer.kind = static_cast<OptimizerKind>(chosen);
    } else if (chosen < names.size()) {
      const OptimizerWord& word = optimizer_words()[chosen - optimizer_names.size()];
      job_.optimizer.kind = word.kind;
      job_.optimizer.fused = word.fused;
      job_.optimizer.by_trainer = true;
    }
  }

  void read_batch() {
    TableReader batch = table("batch");
    batch.read_or_auto("micro", job_.batch.micro, batches);
    batch.read("sequence", job_.batch.sequence, sequences);
    if (batch.find("target") != nullptr) {
      std::uint64_t target = 1;
      batch.read("target", target, sequences);
      job_.batch.target = target;
    }
    batch.read_or_auto("accumulate", job_.batch.accumulate, batches);
    if (batch.find("global") != nullptr) {
      std::uint64_t global = 1;
      batch.read("global", global, batches);
      job_.batch.global = global;
      // The one that is left out follows from the others.
      if (batch.find("accumulate") == nullptr) {
        job_.batch.accumulate.reset();
      } else if (batch.find("micro") == nullptr) {
        job_.batch.micro.reset();
      }
    }
    read_preference_batch(batch, job_);
    job_.batch.prompt = job_.batch.sequence;
    batch.read("prompt", job_.batch.prompt, sequences);
    batch.read("generate", job_.batch.generate, {0, sequences.max});
    read_images(batch, job_.batch);
    batch.refuse_unknown();
    check_global(batch);
  }

  void check_global(TableReader& batch) {
    if (reader_.failed() || !job_.batch.global) return;
    const std::uint64_t global = *job_.batch.global;
    const auto& [micro, accumulate] = std::tie(job_.batch.micro, job_.batch.accumulate);
    const std::string next = "leave one of the three out, or correct it";
    if (micro && accumulate && *micro * *accumulate != global) {
      batch.fail("global", Errc::invalid,
                 fmt::format("expected micro × accumulate = {} × {} = {}, found {}", *micro,
                             *accumulate, *micro * *accumulate, global),
                 next);
    } else if (global % micro.value_or(1) != 0 || global % accumulate.value_or(1) != 0) {
      batch.fail("global", Errc::invalid,
                 fmt::format("expected a multiple of {} = {}, found {}",
                             micro ? "micro" : "accumulate", micro ? *micro : *accumulate, global),
                 next);
    }
  }

  void read_engine_and_device() {
    TableReader engine = table("engine");
    engine.read_choice("kind", job_.engine.kind, engine_names);
    read_release(engine, "transformers", job_.engine.transformers);
    read_release(engine, "torch", job_.engine.torch);
    read_preference_engine(engine, job_);
    engine.read("command", job_.engine.command);
    engine.read("stages", job_.engine.stages, stage_counts);
    if (job_.engine.stages > 1 && job_.engine.kind != EngineKind::headroom)
      engine.fail(
          "stages", Errc::unsupported,
          fmt::format("expected 1 but for headroom's own trainer, found {}", job_.engine.stages),
          "leave it out, or write kind = \"headroom\"");
    engine.refuse_unknown();

    TableReader device = table("device");
    read_capacity(device, "capacity", job_.device.capacity);
    read_capacity(device, "host_capacity", job_.device.host_capacity);
    device.read("gpu", job_.device.gpu);
    if (job_.engine.kind == EngineKind::headroom) job_.device.allocator = "headroom";
    std::size_t allocator = allocators.size();
    device.read_choice("allocator", allocator, allocators);
    if (allocator < allocators.size()) job_.device.allocator = allocators[allocator];
    device.read("context", job_.device.context);
    device.refuse_unknown();
  }

  static void read_capacity(TableReader& device, const char* key, std::optional<Bytes>& capacity) {
    device.read(key, capacity);
    if (!capacity || *capacity >= least_capacity) return;
    device.fail(key, Errc::invalid,
                fmt::format("expected a size of at least {}, found {}", to_string(least_capacity),
                            to_string(*capacity)),
                fmt::format("write it with its unit: {} = \"16GiB\"", key));
  }

  void read_data_and_output() {
    TableReader data = table("data");
    read_training_data(data, job_.data);
    data.read("epochs", job_.data.epochs, large_numbers);
    data.read("seed", job_.data.seed, {0, large_numbers.max});
    read_evaluation(data, job_.data);
    data.refuse_unknown();
    TableReader output = table("output");
    output.read("folder", job_.output.folder);
    output.refuse_unknown();
  }

  DocumentReader reader_;
  Job job_;
};

}  // namespace

std::uint64_t size_of(DType dtype) {
  return dtype == DType::fp32 ? 4 : 2;
}

WeightFormat format_of(DType dtype) {
  return static_cast<WeightFormat>(dtype);
}

std::optional<DType> plain_type(WeightFormat format) {
  if (format > WeightFormat::fp16) return std::nullopt;
  return static_cast<DType>(format);
}

std::string_view to_string(DType dtype) {
  return name_of(dtype, dtype_names);
}
std::string_view to_string(WeightFormat format) {
  return name_of(format, format_names);
}
std::string_view to_string(OptimizerKind kind) {
  return name_of(kind, optimizer_names);
}
std::string_view to_string(MethodKind kind) {
  return name_of(kind, method_names);
}
std::string_view to_string(Attention attention) {
  return name_of(attention, attention_names);
}
std::string_view to_string(Checkpointing value) {
  return name_of(value, checkpointing_names);
}
std::string_view to_string(Loss loss) {
  return name_of(loss, loss_names);
}
std::string_view to_string(EngineKind kind) {
  return name_of(kind, engine_names);
}

Result<Job> parse_job(const Document& document) {
  return JobParser(document).parse();
}

}  // namespace headroom::estimate
