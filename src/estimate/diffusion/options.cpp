// SPDX-License-Identifier: Apache-2.0
#include "estimate/diffusion/options.h"

#include <string>

#include "base/document.h"
#include "base/document_reader.h"

namespace headroom::estimate::diffusion {
namespace {

constexpr Range sides{1, 1U << 14U};
constexpr Range counts{1, 1U << 10U};
constexpr Range step_counts{1, 1U << 20U};
constexpr Range lengths{1, 1U << 12U};

// true and "auto" take half of the heads at a time, "max" one.
void read_slicing(TableReader& table, Settings& settings) {
  const Json* found = table.find("enable_attention_slicing");
  if (found == nullptr || *found == Json(false)) return;
  if (*found == Json(true) || *found == Json("auto"))
    settings.slicing = Processor::sliced_half;
  else if (*found == Json("max") || *found == Json(1))
    settings.slicing = Processor::sliced_one;
  else
    table.fail(
        "enable_attention_slicing", Errc::invalid,
        "expected true, \"auto\" or \"max\", found " + found->dump(-1, ' ', true).substr(0, 60),
        "write enable_attention_slicing = \"max\", or leave it out");
}

void read_type(TableReader& table, Settings& settings) {
  std::string name = "float16";
  table.read("torch_dtype", name);
  if (name.starts_with("torch.")) name = name.substr(6);
  if (name == "float16" || name == "fp16" || name == "half")
    settings.dtype = DType::fp16;
  else if (name == "bfloat16" || name == "bf16")
    settings.dtype = DType::bf16;
  else if (name == "float32" || name == "fp32")
    settings.dtype = DType::fp32;
  else
    table.fail("torch_dtype", Errc::invalid,
               "expected float16, bfloat16 or float32, found \"" + name.substr(0, 40) + "\"",
               "write torch_dtype = \"float16\"");
}

void read_attention(TableReader& table, Settings& settings) {
  std::string name = "sdpa";
  table.read("attention", name);
  if (name == "sdpa")
    settings.attention = AttentionChoice::sdpa;
  else if (name == "math")
    settings.attention = AttentionChoice::math;
  else if (name == "eager" || name == "AttnProcessor")
    settings.attention = AttentionChoice::eager;
  else
    table.fail("attention", Errc::invalid,
               "expected sdpa, math or eager, found \"" + name.substr(0, 40) + "\"",
               "write attention = \"sdpa\"");
}

void read_image(TableReader& table, Settings& settings) {
  table.read("height", settings.height, sides);
  table.read("width", settings.width, sides);
  table.read("prompts", settings.prompts, counts);
  table.read("num_images_per_prompt", settings.images, counts);
  table.read("num_inference_steps", settings.steps, step_counts);
  table.read("max_sequence_length", settings.max_sequence_length, lengths);
  double guidance = 7.5;
  table.read("guidance_scale", guidance, 0, 1000);
  settings.guidance = guidance > 1;
  table.read("negative_prompt", settings.negative_prompt);
}

}  // namespace

Result<Settings> read_settings(const Json& engine) {
  DocumentReader reader(engine, {.root = "[engine]"});
  TableReader table = reader.root();
  Settings settings;
  std::string kind;
  table.read("kind", kind);
  read_type(table, settings);
  read_image(table, settings);
  read_attention(table, settings);
  read_slicing(table, settings);
  table.read("safety_checker", settings.safety_checker);
  table.read("force_upcast", settings.vae_upcast);
  table.read("enable_vae_slicing", settings.vae_slicing);
  table.read("enable_vae_tiling", settings.vae_tiling);
  bool model = false, sequential = false;
  table.read("enable_model_cpu_offload", model);
  table.read("enable_sequential_cpu_offload", sequential);
  if (model && sequential)
    table.fail("enable_sequential_cpu_offload", Errc::invalid,
               "expected one of the two offloads, found both", "leave one out");
  settings.offload = model ? Offload::model : sequential ? Offload::sequential : Offload::none;
  table.refuse_unknown();
  HEADROOM_CHECK(reader.finish());
  return settings;
}

}  // namespace headroom::estimate::diffusion
