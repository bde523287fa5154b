// SPDX-License-Identifier: Apache-2.0
// What a model is made of, as far as its memory is concerned: one or two stacks of transformer
// layers with what goes in and what comes out. Every family of config.json (Hugging Face's
// model_type) is read into these few words, so that no family needs a description of its own
// further on; what the words mean in operations is estimate/transformers/.
//
// Sizes are in elements. The names of modules are those of the family's modeling_*.py.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/document_fwd.h"
#include "base/result.h"
#include "estimate/models/dropout.h"
#include "estimate/models/experts.h"
#include "estimate/models/mixers.h"

namespace headroom::estimate {

struct LatentAttention;  // models/latent_attention.h
struct OnnxModel;
struct StateSpace;  // models/state_space.h
struct Waveform;    // models/waveform.h
struct WeightFile;

enum class NormKind : std::uint8_t {
  rms,    // RMSNorm: a weight; widened to fp32 inside
  layer,  // LayerNorm: a weight and a bias
};

// Where a layer's norms stand.
enum class NormPlacement : std::uint8_t {
  before,        // x + f(norm(x)), twice (Llama, GPT-2, ViT, T5)
  after,         // norm(x + f(x)), twice (BERT, OPT-350m)
  around,        // x + norm(f(norm(x))), twice: four norms (Gemma 2, Gemma 3, GLM-4)
  behind,        // x + norm(f(x)), twice (OLMo 2, EXAONE 4)
  parallel_one,  // x + attention(norm(x)) + mlp(norm(x)) with one norm (Phi, Falcon-7B)
  parallel_two,  // the same with a norm for each (GPT-NeoX, Falcon-40B)
};

enum class Positions : std::uint8_t {
  none,
  rotary,      // turns q and k
  learned,     // a table of `position_rows`, trained (GPT-2, BERT, ViT, OPT)
  sinusoidal,  // a table of `position_rows`, stored and frozen (Whisper's encoder)
  relative,    // T5: a bias of [1, heads, S, S] is added to the scores
  alibi,       // the same, but computed
};

enum class Activation : std::uint8_t {
  silu,
  gelu,
  gelu_tanh,   // gelu_pytorch_tanh: one kernel
  gelu_new,    // transformers' NewGELUActivation: eight operations
  quick_gelu,  // x · sigmoid(1.702 x)
  relu,
  relu2,  // relu(x)²
};

struct Norm {
  NormKind kind = NormKind::rms;
  bool bias = false;  // layer has one unless the config says otherwise.
  double eps = 1e-6;
  bool unit_offset = false;  // Gemma's RMSNorm: times (1 + weight), in fp32.
  bool keeps_input = false;  // T5's: the input itself is scaled, not its fp32 copy.
  bool wide_weight =
      false;             // The weight multiplies before the result is narrowed (OLMo 2, Helium).
  bool by_hand = false;  // Cohere's LayerNorm: both moments by single operations, in fp32. No bias.
  bool weightless = false;   // OLMo's LayerNorm: of an fp32 copy, with neither weight nor bias.
  bool weight_made = false;  // Nemotron's LayerNorm: 1 + weight is made each time, in its own type.
};

// y = x Wᵀ + b, or not there.
struct AttentionShape {
  std::uint64_t heads = 0;
  std::uint64_t kv_heads = 0;
  std::uint64_t head_dim = 0;
  bool q_bias = false;
  bool k_bias = false;
  bool v_bias = false;
  bool o_bias = false;
  bool fused_qkv =
      false;  // One Linear [(heads + 2 kv_heads) head_dim, hidden] (GPT-2, NeoX, Falcon, Phi-3).
  // q_proj gives a gate beside each head; its sigmoid multiplies what the head gives (Qwen3-Next).
  bool gated = false;
  bool qk_norm = false;  // A norm of head_dim on each head of q and k (Qwen3, Gemma 3), of the
                         // stack's kind.
  bool qk_norm_whole = false;  // The norms are of all heads together (OLMoE).
  bool qk_norm_late = false;   // After the rotation (Hunyuan).
  bool wide_rotary = false;    // Heads are turned in fp32 (Cohere, ERNIE 4.5).
  bool multihead = false;  // torch's nn.MultiheadAttention, batch_first: fused_qkv, tokens first.
  // Tokens of all images stand in one row, each image or window is attended by itself, and heads
  // are turned in fp32 (Qwen2-VL).
  bool by_image = false;
  bool scaled_keys = false;     // k is multiplied by a number (Falcon-H1).
  bool heads_first = false;     // q, k and v are made contiguous with their heads first (Whisper).
  bool narrow_softmax = false;  // Falcon's is asked for no wider type.
  bool indexes_heads = false;   // k and v are copied out of the fused projection (Falcon-7B).
  bool wide_scores = false;     // q and k are widened to fp32 for their product (GPT-J).
  // Positions are added by the product itself, and its result and the masked one have names of
  // their own until the attention ends (BLOOM).
  bool names_scores = false;
  bool relative = false;     // Of T5, whose scores are given positions and are not scaled.
  bool soft_cap = false;     // Scores go through tanh (Gemma 2): no fused kernel then.
  double rotary_part = 1.0;  // Of head_dim (Phi, NeoX, Phi-4-mini).
  // A number for each head stands beside its scores (gpt-oss). Nothing is widened for the softmax,
  // and there is no sdpa.
  bool sinks = false;
  bool half_angles = false;  // Angles are of half a head, whose halves are turned one by one.
  // Positions are in fp32, and so are the scores that they are added to; the masked ones have a
  // name until the attention ends (MPT).
  bool wide_positions = false;
  // Keys and values come from a row that is narrower than they are (DeepSeek); head_dim is then of
  // q and k. Null: from the hidden states.
  std::shared_ptr<const LatentAttention> latent;

  bool grouped() const { return kv_heads != heads; }
  std::uint64_t query_size() const { return heads * head_dim; }
  std::uint64_t kv_size() const { return kv_heads * head_dim; }
  std::uint64_t q_rows() const { return (gated ? 2 : 1) * query_size(); }  // Of q_proj.
  std::uint64_t fused_size() const { return query_size() + 2 * kv_size(); }
};

struct MlpShape {
  std::uint64_t intermediate = 0;
  bool gated = true;  // down(act(gate(x)) · up(x)); else down(act(up(x))).
  bool bias = false;
  bool names_inner = false;  // Names hold what its matrices are given and give, to the layer's end.
  bool fused_gate_up = false;  // One Linear [2 intermediate, hidden] (Phi-3).
  bool scaled = false;  // up · act(number · gate), and a number times what comes (Falcon-H1).
  Activation activation = Activation::silu;
};

// What a stack is fed with.
struct Input {
  enum class Kind : std::uint8_t {
    tokens,    // ids → rows of an embedding
    patches,   // an image → a convolution of patch × patch (ViT, CLIP, SigLIP)
    audio,     // mel frames → two convolutions, the second halves the length (Whisper)
    numbers,   // `features` numbers a step → a Linear (time series)
    waveform,  // samples of sound → convolutions (wav2vec 2.0, HuBERT)
  };
  Kind kind = Kind::tokens;
  // Of an embedding row. Where it is not hidden (OPT's word_embed_proj_dim), a Linear without bias
  // takes the rows to hidden, another takes the last layer's rows back for the head.
  std::uint64_t width = 0;
  bool projects_last = false;  // ELECTRA's Linear has a bias and comes behind the sum and its norm.
  std::uint64_t type_rows = 0;   // token_type_embeddings (BERT).
  bool norm = false;             // A norm on the sum of embeddings (BERT; CLIP's pre_layrnorm).
  bool scaled = false;           // The embedding's rows times a number (Gemma, Granite).
  std::uint64_t image_size = 0;  // Pixels.
  std::uint64_t patch_size = 0;  // Pixels.
  std::uint64_t channels = 0;
  bool class_token = false;
  // Trained rows beside it: DeiT's for distillation, DINOv2's registers, which come in behind the
  // positions and have none.
  std::uint64_t extra_tokens = 0;
  bool extra_have_positions = false;
  bool mask_token = false;  // A trained row that training for a task does not use.
  bool patch_bias = true;
  // Of images of any size (Qwen2-VL): a patch's frames, the side of the squares of patches that
  // become one token, and whether patches are brought into the order of windows. 0: of one size.
  std::uint64_t frames = 0;
  std::uint64_t merge = 1;
  bool reorders = false;
  // Of images in tiles beside a small whole (LLaVA-NeXT): the sizes that they are brought to.
  struct Resolution {
    std::uint64_t height = 0;
    std::uint64_t width = 0;
  };
  std::vector<Resolution> resolutions;
  // What a name in the family's forward holds until its layers are through: the embedding's rows,
  // the first layer's input, or nothing.
  enum class Named : std::uint8_t { rows, whole, nothing };
  Named named = Named::rows;
  bool positions_by_sample = false;  // Rows of the table for each sample, held as well (OPT).
  bool own_type = false;             // Pixels come in fp32 and are cast to the weights' type.
  std::uint64_t mel_bins = 0;
  std::uint64_t features = 0;                // Of Kind::numbers.
  std::shared_ptr<const Waveform> waveform;  // Of Kind::waveform.

  std::uint64_t patches() const {
    return patch_size == 0 ? 0 : (image_size / patch_size) * (image_size / patch_size);
  }
};

struct ModuleNames {
  std::string layers = "model.layers";
  std::string attention = "self_attn";
  std::string q = "q_proj";
  std::string k = "k_proj";
  std::string v = "v_proj";
  std::string qkv = "qkv_proj";
  std::string o = "o_proj";
  std::string mlp = "mlp";
  std::string gate = "gate_proj";
  std::string up = "up_proj";  // Also the first of an MLP that is not gated: "c_fc", "fc1".
  std::string gate_up = "gate_up_proj";
  std::string down = "down_proj";
  std::string first_norm = "input_layernorm";
  std::string second_norm = "post_attention_layernorm";
  std::string embedding = "model.embed_tokens";
  std::string final_norm = "model.norm";
  std::string first_post_norm = "post_attention_layernorm";  // Of NormPlacement::around.
  std::string second_post_norm = "post_feedforward_layernorm";
  std::string cross_attention = "encoder_attn";
  std::string cross_norm = "encoder_attn_layer_norm";
  std::string positions = "embed_positions";
  std::string router = "mlp.gate";
  std::string experts = "mlp.experts";
  std::string shared_expert = "mlp.shared_expert";
  std::string head = "lm_head";  // Of the last stack.
};

struct Stack {
  enum class Role : std::uint8_t { decoder, encoder, text, vision };
  Role role = Role::decoder;
  std::uint64_t hidden = 0;
  std::uint64_t layers = 0;
  AttentionShape attention;
  bool causal = true;
  bool cross_attention =
      false;  // A second attention in each layer, to the stack before (T5, Whisper).
  MlpShape mlp;
  std::optional<Experts> experts;
  Norm norm;
  NormPlacement placement = NormPlacement::before;
  bool first_norm_skipped = false;  // The first layer has none of the first of its norms.
  bool residual_scaled = false;     // What is added is first multiplied by a number (Granite),
  bool layer_scale = false;         // or by a trained row (DINOv2).
  double drop_path = 0;             // Probability that a sample's half is dropped whole (DINOv2).
  std::shared_ptr<const StateSpace> state_space;  // In place of both halves (Mamba).
  std::vector<Mixer> mixers;                      // Of each layer; empty: all have attention.
  std::optional<DeltaNet> delta_net;
  std::optional<ShortConvolution> short_convolution;
  std::optional<Mamba2> mamba2;
  // Each layer is x + f(norm(x)), once (Mamba-2, Nemotron-H); with the residual in fp32 or not.
  bool single_halves = false;
  bool wide_residual = false;
  bool final_norm = true;
  bool final_norm_of_class = false;  // Of the class token's row alone (CLIP's tower in LLaVA).
  // Of a tower: the layers whose result is what the projector is given; 0: of all and the norm.
  std::uint64_t chosen_layers = 0;
  Dropout dropout;
  Positions positions = Positions::rotary;
  std::uint64_t position_rows =
      0;  // Rows of the table, where there is one (OPT: 2 more than positions).
  std::uint64_t relative_buckets =
      0;  // T5; the first layer's attention owns the table [buckets, heads].
  bool angles_by_sample = false;  // Rotary positions of text and images differ (Qwen2-VL).
  std::vector<bool> unturned;     // Layers without rotation (SmolLM3); empty: none.
  // Masks [rows, rows] of bools that modules hold beside their weights: one in each
  // layer or one in all, in transformers older than this (major, minor); 0.0: none.
  struct MaskBuffers {
    bool each_layer = true;
    std::uint64_t rows = 0;
    unsigned until_major = 0, until_minor = 0;
  } mask_buffers;
  double rope_theta = 10000.0;
  // Of each layer: the tokens it looks back at; of a tower that sees images of any size, the side
  // of its windows in merged patches. 0 is all. Empty: all layers see all.
  std::vector<std::uint64_t> windows;
  Input input;
  ModuleNames names;

  std::uint64_t window(std::uint64_t layer) const { return windows.empty() ? 0 : windows[layer]; }
  Mixer mixer(std::uint64_t layer) const {
    return mixers.empty() ? Mixer::attention : mixers[layer];
  }
  std::uint64_t layers_with(Mixer mixer) const {
    if (mixers.empty()) return mixer == Mixer::attention ? layers : 0;
    return static_cast<std::uint64_t>(std::count_if(
        mixers.begin(), mixers.end(), [mixer](Mixer each) { return contains(each, mixer); }));
  }
  bool attends() const { return !state_space && layers_with(Mixer::attention) > 0; }
  // Layers with an MLP or experts.
  bool feeds_forward(std::uint64_t layer) const {
    return !single_halves || mixer(layer) == Mixer::feed_forward;
  }
  bool turns(std::uint64_t layer) const { return unturned.empty() || !unturned[layer]; }
};

// What comes after the last stack.
struct Head {
  enum class Kind : std::uint8_t {
    none,
    language,    // logits over the vocabulary
    pooler,      // BERT: a Linear [hidden, hidden] with bias and tanh on the first token
    projection,  // CLIP: each tower to a common width, and one scalar
    numbers,  // a Linear to `width` numbers: time series (at every step), classes (once a sample)
  };
  Kind kind = Kind::language;
  bool tied = false;  // Shares the embedding's weight.
  bool bias = false;
  std::uint64_t width = 0;  // Of projection and numbers; of the classifier behind a pooler, if any.
  bool per_sample = false;  // numbers: of one position of each sample, not of all.
  // What per_sample takes from the last layer's rows.
  enum class Pooling : std::uint8_t {
    one,             // a row
    mean,            // the mean of all (SigLIP, wav2vec 2.0)
    first_and_mean,  // the first row beside the mean of the others, twice as wide (DINOv2)
  };
  Pooling pooling = Pooling::one;
  std::uint64_t inner = 0;         // numbers: a Linear to so many stands in front (wav2vec 2.0).
  bool connectionist = false;      // numbers: the loss is CTC, in fp32.
  bool attention_pooling = false;  // A tower's head that nothing is made of (SigLIP).
  bool soft_cap = false;           // Logits go through tanh (Gemma 2).
  bool scaled = false;             // Logits times a number (Granite).
  bool widens = false;             // The model itself makes its logits fp32 (Mamba, Nemotron-H).
  bool offset = false;        // A buffer of the vocabulary's size is added to the logits (BART).
  bool input_scaled = false;  // The hidden states before it times a number (T5 where it is tied).
  // Whose loss is a bare cross_entropy: in the logits' own type, and no row is shifted away
  // (T5, BART, Whisper, masked words, a model of one's own); decoders' is ForCausalLMLoss.
  bool plain_loss = false;
  // T5's of transformers 5 shares the embedding's weight whatever its config says.
  bool tied_since_5 = false;
  bool transform_bias = true;  // Of the next; and its loss, where it has none, is not plain.
  bool transform = false;  // BERT's masked words: Linear [hidden, hidden], activation, norm first.
  bool transforms_classes = false;  // The same stands before classes of tokens (ModernBERT).
};

// What takes a vision tower's rows to the width of the text's, and how they come to stand among the
// text's: one matrix, or two with an activation between.
struct Projector {
  std::uint64_t in = 0;     // Of a row that the first matrix is given.
  std::uint64_t inner = 0;  // Between two matrices; 0: there is one.
  std::uint64_t out = 0;
  bool bias = false;
  Activation activation = Activation::gelu;
  std::optional<Norm> norm;      // In front of the first matrix,
  std::uint64_t norm_width = 0;  // of rows of that width.
  std::uint64_t tokens = 0;      // Rows an image; 0: they follow from its size.
  bool averages = false;         // Those rows are averages of the tower's (Gemma 3).
  // An image's tokens see each other in both directions: no layer of the text is without a mask.
  bool both_ways = false;
  bool newline = false;   // A row of its own ends each row of an image in tiles (LLaVA-NeXT).
  bool returned = false;  // The model's output has them (image_hidden_states).

  std::uint64_t matrices() const { return inner == 0 ? in * out : in * inner + inner * out; }
};

// How a checkpoint says that its weights are held (config.json's quantization_config).
struct StoredQuantization {
  std::string method;             // "gptq", "awq", "bitsandbytes"
  std::uint64_t bits = 0;         // 0 if it says nothing.
  std::int64_t group_size = 128;  // -1: one group per column.
  bool double_quantized = false;  // bitsandbytes: the groups' scales are quantised as well.
};

struct Architecture {
  std::string family;    // model_type; "onnx" where `graph` is all that is known
  bool guessed = false;  // The model_type is not known: its keys are a Llama's.
  std::vector<Stack> stacks;
  std::uint64_t vocabulary = 0;        // Rows of the embedding; 0 where there is none.
  bool shared_embedding = false;       // Encoder and decoder share one (T5).
  std::optional<Projector> projector;  // From stacks[0], a vision tower, to the last one.
  Head head;
  std::uint64_t max_positions = 0;  // max_position_embeddings; 0 if it says nothing.
  std::string
      dtype;  // Of the checkpoint's weights: "float32", "bfloat16"; empty if it says nothing.
  std::optional<StoredQuantization> stored;
  // By the headers of the model's own files; null where none are at hand.
  std::shared_ptr<const WeightFile> weights;
  std::shared_ptr<const OnnxModel> graph;  // Of an ONNX file. The one stack is then empty.
  std::vector<std::string> notes;          // What had to be assumed, in words a person can judge.

  const Stack& main() const { return stacks.back(); }  // The one that gives the output.
};

// Unknown keys are ignored; a needed key that is absent, of a wrong type or impossible is an error
// that names it (with the table it stands in: "text_config.hidden_size") and what was found. A
// model_type that is not known but has a Llama's keys is read as one, with a note. The values are
// so bounded that no count of parameters overflows 64 bits.
Result<Architecture> parse_architecture(const Json& config);

// By the name people use, "Qwen/Qwen2.5-3B" or "qwen2.5-3b", from data/models.toml. A name that is
// not there is an error that lists the nearest ones.
Result<Architecture> find_architecture(const std::string& name);

}  // namespace headroom::estimate
