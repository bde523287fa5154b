// SPDX-License-Identifier: Apache-2.0
// Sources: transformers, utils/quantization_config.py and the Auto classes' heads in modeling_*.py.
#include "estimate/models/checkpoint.h"

#include <fmt/format.h>

#include "base/document.h"

namespace headroom::estimate {
namespace {

constexpr Range bit_widths{1, 32};

StoredQuantization read_quantization(ConfigReader quantization) {
  StoredQuantization stored;
  stored.method = quantization.text_or({"quant_method"}, "");
  if (stored.method.empty() && quantization.has("load_in_4bit")) stored.method = "bitsandbytes";
  if (stored.method.empty()) quantization.fail("quant_method", "text");
  if (stored.method == "bitsandbytes") {
    const bool four = quantization.flag_or({"load_in_4bit", "_load_in_4bit"}, false);
    stored.bits = four ? 4 : 8;
    stored.group_size = four ? 64 : -1;
    stored.double_quantized = four && quantization.flag_or({"bnb_4bit_use_double_quant"}, false);
    return stored;
  }
  stored.bits = quantization.size_or({"bits", "w_bit", "nbits"}, bit_widths, 0);
  const Json* group = quantization.find({"group_size", "q_group_size"});
  if (group != nullptr) {
    if (group->is_number_integer() && (*group == -1 || (*group >= 1 && *group <= widths.max))) {
      stored.group_size = group->get<std::int64_t>();
    } else {
      quantization.fail("group_size", "-1 or a whole number above 0");
    }
  }
  if (stored.bits == 0) {
    quantization.note("quantization_config: " + shown(stored.method) +
                      " does not say how many bits a weight has");
  }
  return stored;
}

bool ends_with_any(const std::string& text, std::initializer_list<std::string_view> ends) {
  for (const std::string_view end : ends) {
    if (text.ends_with(end)) return true;
  }
  return false;
}

// transformers: num_labels, else as many as id2label names, else two.
std::uint64_t labels_of(ConfigReader& config) {
  const Json* names = config.find({"id2label"});
  const std::uint64_t named =
      names != nullptr && names->is_object() && !names->empty() ? names->size() : 2;
  return config.size_or({"num_labels"}, widths, std::min<std::uint64_t>(named, widths.max));
}

// CLIP's tower alone, without its projection; its last norm is made, and nothing is made of it.
void keep_the_tower(Architecture& out) {
  out.stacks.erase(out.stacks.begin());
  out.stacks.back().final_norm_of_class = true;
  out.vocabulary = 0;
}

// A Linear on the hidden states; BERT's classifier of samples stands on the pooler.
void put_classifier(Architecture& out, std::uint64_t labels, bool per_sample) {
  const bool decoder = out.main().role == Stack::Role::decoder;
  const bool pooled = per_sample && out.main().role == Stack::Role::encoder &&
                      out.main().input.kind != Input::Kind::waveform;
  const Head before = out.head;
  out.head = {};
  out.head.pooling = before.pooling;
  out.head.inner = before.inner;
  out.head.attention_pooling = before.attention_pooling;
  out.head.kind = pooled ? Head::Kind::pooler : Head::Kind::numbers;
  out.head.width = labels;
  out.head.bias = !decoder || !per_sample;
  // A decoder's scores are made at every position, and one is picked.
  out.head.per_sample = per_sample && !decoder;
  out.head.transform = before.transforms_classes && !per_sample;
  out.head.transform_bias = before.transform_bias;
}

bool is_lone_encoder(const Architecture& model) {
  return model.stacks.size() == 1 && !model.main().causal;
}

// A head that nothing here knows: what an encoder's adds is most of the memory, a decoder's is that
// of a language model as a rule.
void other_head(ConfigReader& config, const Architecture& out, const std::string& name) {
  if (is_lone_encoder(out)) {
    config.fail("architectures",
                "the model alone, ...ForMaskedLM, ...ForSequenceClassification, "
                "...ForTokenClassification, ...ForQuestionAnswering or ...ForImageClassification",
                Errc::unsupported);
    return;
  }
  config.note(
      fmt::format("architectures: {} is not known, and planned with the head of a language "
                  "model",
                  shown(name)));
}

}  // namespace

void read_storage(ConfigReader& config, Architecture& out) {
  const Json* dtype = config.find({"dtype", "torch_dtype"});
  if (dtype != nullptr && dtype->is_string()) {
    out.dtype = dtype->get<std::string>();
    if (out.dtype.starts_with("torch.")) out.dtype.erase(0, 6);
    if (out.dtype == "auto") out.dtype.clear();
  }
  if (config.has("quantization_config")) {
    out.stored = read_quantization(config.inner("quantization_config"));
  }
}

void read_task(ConfigReader& config, Architecture& out) {
  const auto names = config.texts("architectures");
  if (names.empty() || config.failed()) return;
  const std::string& name = names.front();
  if (name.ends_with("EncoderModel") && out.stacks.size() == 2 && out.shared_embedding) {
    out.stacks.pop_back();  // T5's half for embeddings.
    out.head = {};
    out.head.kind = Head::Kind::none;
  } else if (ends_with_any(name, {"ForSequenceClassification", "ForTokenClassification",
                                  "ForImageClassification", "ForQuestionAnswering"})) {
    if (name == "CLIPForImageClassification" && out.stacks.size() == 2) keep_the_tower(out);
    if (out.stacks.size() > 1) {
      config.note(fmt::format("architectures: {} is planned with the head of a language model",
                              shown(name)));
      return;
    }
    const bool per_sample =
        !ends_with_any(name, {"ForTokenClassification", "ForQuestionAnswering"});
    put_classifier(out, name.ends_with("ForQuestionAnswering") ? 2 : labels_of(config), per_sample);
  } else if (name.ends_with("ForCTC") && out.main().input.kind == Input::Kind::waveform) {
    out.head = {};
    out.head.kind = Head::Kind::numbers;
    out.head.width = config.size_or({"vocab_size"}, vocabularies, 32);
    out.head.bias = out.head.connectionist = true;
  } else if (name.ends_with("ForMaskedLM") && out.main().role == Stack::Role::encoder) {
    const bool tied = config.flag_or({"tie_word_embeddings"}, true);
    const bool transform_bias = out.head.transform_bias;
    out.head = {};
    out.head.tied = tied;
    out.head.bias = out.head.transform = true;
    // ModernBERT's loss is ForMaskedLMLoss, which widens.
    out.head.transform_bias = out.head.plain_loss = transform_bias;
  } else if (name == "ViTModel") {
    out.head.kind = Head::Kind::pooler;
    out.head.bias = true;
  } else if (name.ends_with("Model") && out.head.kind == Head::Kind::language &&
             !ends_with_any(name, {"LMHeadModel", "DoubleHeadsModel"})) {
    out.head = {};
    out.head.kind = Head::Kind::none;
  } else if (is_lone_encoder(out)
                 ? !name.ends_with("Model") || name.ends_with("LMHeadModel")
                 : !ends_with_any(name, {"Model", "ForCausalLM", "ForConditionalGeneration"})) {
    other_head(config, out, name);
  }
}

}  // namespace headroom::estimate
