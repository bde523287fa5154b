// SPDX-License-Identifier: Apache-2.0
#include "estimate/speed.h"

#include <algorithm>

#include "base/require.h"
#include "estimate/models/parameters.h"

namespace headroom::estimate {
namespace {

// Where nothing is known of the card: an RX 7900 XT's (data/cards.toml), in the middle of them.
constexpr Rates middle{103e12, 51.5e12, 800e9};

// Our own trainer runs on the host: a desktop CPU's.
constexpr Rates host{1e12, 0.5e12, 45e9};

// Host and link: PCIe 4.0 × 16 carries 31.5 GB/s, of which copies reach about 25; two channels of
// DDR5-5600 carry 90 GB/s, of which a CPU's AdamW reaches about half (DeepSpeed's CPU Adam reads
// and writes seven values an element in fp32, as ours does).
constexpr double link_bytes_per_second = 25e9;
constexpr double host_bytes_per_second = 45e9;
constexpr double host_bytes_per_element = 28;

// PyTorch needs about 10 µs of the CPU to launch an operation in eager mode and its part of
// autograd; a GPU that is done sooner waits.
constexpr double seconds_per_kernel = 10e-6;

const Rates& rates_for(const Job& job, const Device& device) {
  if (job.engine.kind == EngineKind::headroom) return host;
  return device.rates.bytes > 0 ? device.rates : middle;
}

// What an optimizer's kernels read and write of each value: parameter, gradient and two moments in,
// all but the gradient out; foreach's square roots and quotients go through memory as well.
constexpr double adamw_passes = 7;
constexpr double foreach_passes = 4;
constexpr double adamw8bit_passes = 4;  // Its moments are bytes.
constexpr double adafactor_passes = 9;
constexpr double sgd_passes = 3;

struct ForwardFlops {
  double layers = 0;  // Of their matrices.
  double scores = 0;  // Of attention's two products.
  double head = 0;
};

// Of the layers of all stacks.
double matrix_elements(const Architecture& model) {
  double sum = 0;
  for (const Stack& stack : model.stacks)
    sum += static_cast<double>(matrix_elements_per_token(stack));
  return sum;
}

ForwardFlops forward_flops(const Architecture& model, double tokens) {
  ForwardFlops flops;
  flops.layers = 2 * tokens * matrix_elements(model);
  for (const Stack& stack : model.stacks) {
    for (std::uint64_t i = 0; i < stack.layers; ++i) {
      const auto window = static_cast<double>(stack.window(i));
      const double seen = window > 0 ? std::min(window, tokens) : tokens;
      flops.scores += 4 * tokens * seen * static_cast<double>(stack.attention.query_size());
    }
  }
  flops.head = 2 * tokens * static_cast<double>(model.vocabulary * model.main().hidden);
  return flops;
}

bool fused(const Job& job) {
  return job.compute.attention == Attention::efficient || job.compute.attention == Attention::flash;
}

double rate_of(const Job& job, const Rates& rates) {
  return job.compute.dtype == DType::fp32 ? rates.single_flops : rates.half_flops;
}

// How often all weights are read: forward, input gradients, the weights' gradients, recomputation.
double weight_passes(const Job& job) {
  if (job.method.kind == MethodKind::inference) return 1;
  const double again = job.compute.checkpointing == Checkpointing::layer ? 1 : 0;
  return (job.method.kind == MethodKind::full ? 3 : 2) + again;
}

double optimizer_passes(const Job::Optimizer& optimizer) {
  switch (optimizer.kind) {
    case OptimizerKind::adamw:
      return adamw_passes + (optimizer.foreach ? foreach_passes : 0);
    case OptimizerKind::adamw8bit:
      return adamw8bit_passes;
    case OptimizerKind::adafactor:
      return adafactor_passes;
    case OptimizerKind::sgd:
      break;
  }
  return sgd_passes;
}

double optimizer_seconds(const Job& job, const Rates& rates, const Effort& effort) {
  if (job.method.kind == MethodKind::inference) return 0;
  const auto bytes = static_cast<double>(effort.trainable_bytes);
  const bool ours = job.engine.kind == EngineKind::headroom;
  if (job.optimizer.offload && !ours) {
    return 2 * bytes / link_bytes_per_second + static_cast<double>(effort.trainable_elements) *
                                                   host_bytes_per_element / host_bytes_per_second;
  }
  // Ours copies them to the device and back.
  const double copied = 2 * static_cast<double>(effort.offloaded_bytes);
  return (optimizer_passes(job.optimizer) * bytes + copied) / rates.bytes;
}

// After the prompt each token reads all weights, and the cache, which grows from prompt to end.
double generating_seconds(const Job& job, const Architecture& model, const Rates& rates,
                          const Effort& effort) {
  const auto made = static_cast<double>(job.batch.generate);
  const auto batch = static_cast<double>(*job.batch.micro);
  const double average = static_cast<double>(job.batch.prompt) + made / 2;
  const Stack& main = model.main();
  const double cache =
      batch * average * 2.0 *
      static_cast<double>(main.attention.kv_size() * main.layers * size_of(job.compute.dtype));
  const double reading = (static_cast<double>(effort.weights_bytes) + cache) / rates.bytes;
  const double computing = batch * 2 * matrix_elements(model) / rate_of(job, rates);
  return made * std::max(reading, computing);
}

}  // namespace

double flops_per_sample(const Job& job, const Architecture& model) {
  const bool infers = job.method.kind == MethodKind::inference;
  const auto tokens = static_cast<double>(infers ? job.batch.prompt : job.batch.sequence);
  const ForwardFlops flops = forward_flops(model, tokens);
  const double forward = flops.layers + flops.scores + flops.head;
  if (infers) return forward;
  // Frozen weights need the gradient of their input only.
  double total = (flops.layers + flops.head) * (job.method.kind == MethodKind::full ? 3.0 : 2.0) +
                 3 * flops.scores;
  if (job.compute.checkpointing == Checkpointing::layer) total += flops.layers + flops.scores;
  const bool again = job.compute.checkpointing == Checkpointing::selective;
  if (again && job.engine.kind == EngineKind::transformers) total += flops.scores;
  if (fused(job)) total += flops.scores / 2;  // Their backward makes the scores again.
  return total;
}

double tokens_per_second(const Job& job, const Architecture& model, const Device& device,
                         const Effort& effort) {
  require(job.batch.micro.has_value(), "a job whose speed is wanted has its micro-batch");
  const Rates& rates = rates_for(job, device);
  const auto micro = static_cast<double>(*job.batch.micro);
  const double computing = micro * flops_per_sample(job, model) / rate_of(job, rates);
  const double reading =
      weight_passes(job) * static_cast<double>(effort.weights_bytes) / rates.bytes;
  // What is written is read once at least, by kernels that do little else.
  const double moving = 2 * effort.taking.written_bytes / rates.bytes;
  const double pass =
      std::max(std::max(computing, reading) + moving, effort.taking.kernels * seconds_per_kernel);
  if (job.method.kind == MethodKind::inference) {
    const double tokens = micro * static_cast<double>(job.batch.prompt + job.batch.generate);
    return tokens / (pass + generating_seconds(job, model, rates, effort));
  }
  require(job.batch.accumulate.has_value(), "a job whose speed is wanted has its accumulation");
  const auto passes = static_cast<double>(*job.batch.accumulate);
  const double step = passes * pass + optimizer_seconds(job, rates, effort);
  return passes * micro * static_cast<double>(job.batch.sequence) / step;
}

}  // namespace headroom::estimate
