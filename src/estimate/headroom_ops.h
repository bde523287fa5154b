// SPDX-License-Identifier: Apache-2.0
// What the operations of src/trainer/ops allocate, forward and backward: the "Memory:" comments
// there, as code. Who asks for the work hears of every operation as well, with its sizes.
#pragma once

#include <initializer_list>

#include "estimate/headroom_parameters.h"
#include "estimate/job.h"
#include "estimate/tape.h"
#include "estimate/work.h"

namespace headroom::estimate::ours {

struct NormResult {
  Tensor out;    // [N, H]
  Tensor stats;  // [N, 1]; of LayerNorm [N, 2]
};

struct Qkv {
  Tensor q, k, v;
  Tensor all;  // Where they are columns of one, in place of them.
};

struct AttentionResult {
  Tensor out;    // [N, heads·D]
  Tensor saved;  // math: probabilities; efficient: log-sum-exp
};

struct LinearSaved {
  Tensor reduced;  // x·Aᵀ
  Tensor dropped;  // The dropout mask.
};

// What lives while an adapter that projections share goes back (trainer/ops/shared_adapter.h).
struct SharedAdapterGradients {
  Tensor a, b;     // Casts.
  Tensor reduced;  // Of x·Aᵀ.
};

// Reads the job and the model once; every method allocates on the tape it was made with, and adds
// what it does to the work, where that is asked for.
class Ops {
 public:
  Ops(Tape& tape, const Job& job, const ModelConfig& model, Work* work = nullptr);

  // Of each row, or of each `width` elements of a row.
  NormResult rms_norm(const Tensor& x) const { return rms_norm(x, x.shape[1]); }
  NormResult rms_norm(const Tensor& x, std::uint64_t width) const;
  // By the width of the weight.
  void rms_norm_backward(const Tensor& x, Parameter& weight) const;
  // RMSNorm, or with a bias LayerNorm.
  NormResult normalise(const Tensor& x, const Norm& norm) const;
  void normalise_backward(const Tensor& x, const Norm& norm) const;
  void rotary(const Tensor& x) const;  // In place; its backward is the same.
  Tensor swiglu(const Tensor& gate) const;
  Tensor swiglu_backward(const Tensor& gate) const;  // d up; d gate takes the place of d act.
  // Gemma's; their time is taken to be swiglu's.
  Tensor geglu(const Tensor& gate) const;
  Tensor geglu_backward(const Tensor& gate) const;  // As swiglu_backward.
  Tensor clone(const Tensor& grad) const;
  Tensor gelu(const Tensor& x) const;
  void gelu_backward(const Tensor& x) const;  // In place.
  Tensor linear(const Linear& layer, const Tensor& x, LinearSaved& saved) const;
  void linear_backward(const Linear& layer, const Tensor& grad, const Tensor& x, LinearSaved& saved,
                       Tensor* dx) const;
  // Of an adapter that projections share: `adapter` has lora_a and lora_b alone.
  void add_shared_adapter(const Linear& adapter, const Tensor& x,
                          std::initializer_list<const Tensor*> outs, LinearSaved& saved) const;
  SharedAdapterGradients begin_shared_adapter_backward(const Linear& adapter) const;
  void add_shared_adapter_backward(const Linear& adapter, const Tensor& grad,
                                   SharedAdapterGradients& gradients) const;
  void finish_shared_adapter_backward(const Linear& adapter, const Tensor& x,
                                      const LinearSaved& saved, bool through_input) const;
  // `window`: keys that a query sees; 0: all before it.
  AttentionResult attention(const Qkv& in, std::uint64_t window) const;
  Qkv attention_backward(const Qkv& in, std::uint64_t window) const;
  Tensor loss(const Tensor& x, Parameter& head) const;  // d x
  void evaluate_loss(const Tensor& x, const Parameter& head) const;
  // left · rightᵀ summed over `inner`, into a gradient of [rows, columns].
  void add_product_to_gradient(Parameter& parameter, std::uint64_t inner) const;

  // An operation on `numbers` numbers of the job's dtype that allocates nothing, or elsewhere.
  void work(Operation operation, std::uint64_t numbers) const;
  // The same of a type of its own.
  void work(Operation operation, const Meta& numbers) const;

 private:
  // The temporaries of [rows, inner] · [inner, columns] (trainer/ops/product.h).
  struct Product {
    Operation operation;
    std::uint64_t rows, inner, columns;
    Element out;
  };
  void work_attention(Operation efficient, std::uint64_t length, std::uint64_t window) const;
  void product(const Product& product) const;
  void layer_norm_backward(const Tensor& x, const Norm& norm) const;
  Qkv make_gradients(const Qkv& in) const;
  Tensor attention_space(std::uint64_t length) const;
  Tensor temporary(Name name, Shape shape, Element element = Element::fp32) const;
  Tensor widened(Name name, const Shape& shape) const;  // Undefined in fp32.
  Tensor dequantised(const Linear& layer) const;        // Undefined where it is not quantised.
  void adapter_temporaries(const Linear& layer, Tensor& a, Tensor& b) const;
  void adapter_backward(const Linear& layer, const Tensor& x, const Shape& input,
                        const LinearSaved& saved, bool through_input) const;
  void cross_entropy(const Tensor& logits) const;
  void add_work(const Call& call, double times = 1) const;

  Tape& tape_;
  const Job& job_;
  const ModelConfig& model_;
  Element element_;
  bool narrow_;  // Half types: sums are taken in fp32 copies.
  Work* work_;
  mutable double times_ = 1;  // How often what is done now is done: chunks that are alike.
};

}  // namespace headroom::estimate::ours
