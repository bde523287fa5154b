// SPDX-License-Identifier: Apache-2.0
#include "estimate/transformers/linear.h"

#include <algorithm>

namespace headroom::estimate::transformers {
namespace {

constexpr std::uint64_t nf4_block = 64;               // Weights that share one scale.
constexpr std::uint64_t scales_block = 256;           // Scales that share one scale of their own.
constexpr std::uint64_t awq_dequantises_from = 1024;  // Rows; fewer go through the fused kernel.

std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) {
  return (a + b - 1) / b;
}

// bitsandbytes Params4bit: two weights a byte, and the scales of blocks of 64.
void store_nf4(Run& run, Linear& linear) {
  const std::uint64_t elements = linear.in * linear.out;
  const std::uint64_t scales = divide_up(elements, nf4_block);
  const auto part = [&](Name name, const Meta& meta) {
    linear.stored.push_back(run.tape.empty(name, meta, Component::weights));
  };
  part(linear.name + ".weight", {{divide_up(elements, 2), 1}, Element::uint8});
  if (linear.format == WeightFormat::nf4) {
    part(linear.name + ".absmax", {{scales}, Element::fp32});
  } else {
    part(linear.name + ".absmax", {{scales}, Element::uint8});
    part(linear.name + ".absmax_scales", {{divide_up(scales, scales_block)}, Element::fp32});
  }
}

void store_packed(Run& run, Linear& linear) {
  const std::int64_t group = run.job.method.group_size;
  const std::uint64_t groups =
      group < 0 ? 1 : divide_up(linear.in, static_cast<std::uint64_t>(group));
  const std::uint64_t per_word = linear.format == WeightFormat::gptq8 ? 4 : 8;  // In 32 bits.
  const auto part = [&](Name name, const Meta& meta) {
    linear.stored.push_back(run.tape.empty(name, meta, Component::weights));
  };
  part(linear.name + ".qweight", {{divide_up(linear.in, per_word), linear.out}, Element::int32});
  part(linear.name + ".qzeros", {{groups, divide_up(linear.out, per_word)}, Element::int32});
  part(linear.name + ".scales", {{groups, linear.out}, Element::fp16});
  if (linear.format != WeightFormat::awq4)
    part(linear.name + ".g_idx", {{linear.in}, Element::int32});
}

void store_int8(Run& run, Linear& linear) {
  linear.stored.push_back(run.tape.empty(
      linear.name + ".weight", {{linear.out, linear.in}, Element::uint8}, Component::weights));
  linear.stored.push_back(
      run.tape.empty(linear.name + ".SCB", {{linear.out}, Element::fp32}, Component::weights));
}

void add_bias(Run& run, Linear& linear, Element element) {
  linear.bias = run.tape.parameter(linear.name + ".bias", {{linear.out}, element},
                                   Component::weights, run.full());
}

// A product with a frozen weight that has to be unpacked for it, or is unpacked inside the kernel.
struct Unpacked {
  bool whole = false;  // The kernel needs the whole weight in the compute type.
  bool saves_input = false;
};

Unpacked unpacked(const Linear& linear, const Tensor& x) {
  switch (linear.format) {
    case WeightFormat::nf4:
    case WeightFormat::nf4_dq:
      return {true, false};
    case WeightFormat::awq4:
      return {x.elements() / linear.in >= awq_dequantises_from, false};
    case WeightFormat::int8:
      return {false, true};
    default:
      return {};
  }
}

Tensor quantised_product(Run& run, const Linear& linear, const Tensor& x) {
  const Meta input = x.meta();
  const Unpacked how = unpacked(linear, x);
  const Meta matrix{{linear.out, linear.in}, x.element};
  Meta output = input;
  output.shape.back() = linear.out;
  const Name name = linear.name;
  // LLM.int8 quantises its input first, a scale for each row.
  Tensor quantised_input;
  if (linear.format == WeightFormat::int8)
    quantised_input = run.tape.empty(name + ".input_int8", {input.shape, Element::uint8});
  Tensor whole;
  if (how.whole) whole = run.tape.empty(name + ".dequantised", matrix, Component::workspace);
  Tensor y = run.tape.empty(name, output);
  run.tape.multiply();
  whole = {};
  std::vector<Tensor> saved;
  if (how.saves_input && x.requires_grad()) saved.push_back(x);
  const bool unpacks_back = how.whole || linear.format == WeightFormat::int8;
  return run.tape.connect(y, {x}, saved,
                          [=](Tape& t, const Tensor&, const Node&) -> std::vector<Tensor> {
                            Tensor again;
                            if (unpacks_back)
                              again = t.empty(name + ".dequantised", matrix, Component::workspace);
                            Tensor grad = t.empty(name + ".input_grad", input);
                            t.multiply();
                            return {grad};
                          });
}

// What a checkpoint has made again is let go as soon as the product's derivative has it (torch's
// checkpoint.py, unpack_hook), and so before the bias's gradient is summed; else it goes after. So
// that sum is of a node of its own: a view of the bias. Not of the reentrant kind, which has no
// hooks.
Tensor bias_of_checkpoint(Run& run, const Tensor& bias, const Tensor& x, Name name) {
  const bool again = run.tape.in_backward() && run.tape.grad_enabled();
  if (!again || run.job.compute.reentrant) return bias;
  const std::uint64_t columns = bias.shape.back();
  const std::uint64_t rows = x.elements() / std::max<std::uint64_t>(1, x.shape.back());
  const Meta sum{{columns}, x.element};
  Tensor same = bias;
  same.node = nullptr;
  same.viewed = true;
  return run.tape.connect(same, {bias}, {}, [=](Tape& t, const Tensor&, const Node&) -> Tensors {
    Tensor grad = t.empty(name + ".bias_grad", sum);
    t.sum_rows(rows, columns);
    return {grad};
  });
}

// What the layer itself gives, without an adapter.
Tensor base_product(Run& run, const Linear& linear, const Tensor& x) {
  if (linear.quantised()) {
    const Tensor narrow = ops::cast(run.tape, x, run.compute(), linear.name + ".input");
    const Tensor y = quantised_product(run, linear, narrow);
    return ops::cast(run.tape, y, x.element, linear.name + ".widened");
  }
  const Tensor input = run.autocast(x, linear.name + ".input");
  const Tensor weight = run.autocast_weight(weight_of(run, linear), linear.name);
  std::optional<Tensor> bias = bias_of(run, linear);
  if (bias)
    bias = bias_of_checkpoint(run, run.autocast_weight(*bias, linear.name), input, linear.name);
  return ops::linear(run.tape, input, weight, bias, linear.name);
}

Tensor adapter_product(Run& run, const Linear& linear, const Tensor& x) {
  const Scope scope(run.tape, linear.name);
  const auto product = [&run](const Tensor& input, const Tensor& weight, Name name) {
    return ops::linear(run.tape, run.autocast(input, name + ".input"),
                       run.autocast_weight(weight, name), std::nullopt, name);
  };
  // One expression, so that what each leaves goes when Python's would.
  return ops::scale(run.tape,
                    product(product(run.dropout(x, run.job.method.dropout, "lora_dropout"),
                                    *linear.lora_a, "lora_A"),
                            *linear.lora_b, "lora_B"),
                    "lora_scaled");
}

}  // namespace

Linear make_linear(Run& run, Name name, Shape shape, bool bias) {
  Linear linear;
  linear.name = name;
  linear.out = shape[0];
  linear.in = shape[1];
  linear.format = run.job.method.base;
  switch (linear.format) {
    case WeightFormat::nf4:
    case WeightFormat::nf4_dq:
      store_nf4(run, linear);
      break;
    case WeightFormat::int8:
      store_int8(run, linear);
      break;
    case WeightFormat::gptq4:
    case WeightFormat::gptq8:
    case WeightFormat::awq4:
      store_packed(run, linear);
      break;
    default:
      linear.stored.push_back(run.tape.parameter(name + ".weight", {shape, run.weights()},
                                                 Component::weights, run.full()));
  }
  if (linear.quantised())
    run.largest_quantised = std::max(run.largest_quantised, linear.in * linear.out);
  if (bias) add_bias(run, linear, run.weights());
  return linear;
}

Linear make_plain_linear(Run& run, Name name, Shape shape, bool bias, Element element) {
  Linear linear;
  linear.name = name;
  linear.out = shape[0];
  linear.in = shape[1];
  linear.stored.push_back(
      run.tape.parameter(name + ".weight", {shape, element}, Component::weights, run.full()));
  if (bias) add_bias(run, linear, element);
  return linear;
}

void attach_adapter(Run& run, Linear& linear) {
  const Element element = element_of(run.job.method.adapter_dtype);
  const std::uint64_t rank = run.job.method.rank;
  linear.lora_a = run.tape.parameter(linear.name + ".lora_A.weight", {{rank, linear.in}, element},
                                     Component::adapters, true);
  linear.lora_b = run.tape.parameter(linear.name + ".lora_B.weight", {{linear.out, rank}, element},
                                     Component::adapters, true);
  run.adapted = true;
}

void attach_copy(Run& run, Linear& linear) {
  const auto copy = [&run](Name name, const Tensor& of) {
    return run.tape.parameter(name, of.meta(), Component::adapters, true);
  };
  linear.copy = copy(linear.name + ".modules_to_save.weight", linear.stored.front());
  if (linear.bias) linear.bias_copy = copy(linear.name + ".modules_to_save.bias", *linear.bias);
}

const Tensor& weight_of(const Run& run, const Linear& linear) {
  return linear.copy && !run.without_adapters ? *linear.copy : linear.stored.front();
}

const std::optional<Tensor>& bias_of(const Run& run, const Linear& linear) {
  return linear.bias_copy && !run.without_adapters ? linear.bias_copy : linear.bias;
}

Tensor apply(Run& run, const Linear& linear, const Tensor& x) {
  Tensor result = base_product(run, linear, x);
  if (!linear.lora_a || run.without_adapters) return result;
  const Element wanted = result.element;
  const Name name = linear.name;
  const bool bitsandbytes = linear.format == WeightFormat::nf4 ||
                            linear.format == WeightFormat::nf4_dq ||
                            linear.format == WeightFormat::int8;
  // PEFT's bnb layers leave the casts to autocast where it is on; the plain one never does.
  const bool casts = !bitsandbytes || !run.autocasts();
  if (linear.format == WeightFormat::nf4 || linear.format == WeightFormat::nf4_dq)
    result = ops::copy(run.tape, result, result.shape, name + ".clone");
  Tensor input = x;
  if (casts) input = ops::cast(run.tape, x, linear.lora_a->element, name + ".lora_input");
  Tensor adapted = adapter_product(run, linear, input);
  if (bitsandbytes && casts) adapted = ops::cast(run.tape, adapted, wanted, name + ".lora_narrow");
  result = ops::add(run.tape, result, adapted, name + ".with_adapter");
  adapted = {};
  return ops::cast(run.tape, result, wanted, name + ".narrow");
}

}  // namespace headroom::estimate::transformers
