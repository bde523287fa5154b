// SPDX-License-Identifier: Apache-2.0
// Sources: transformers' modeling_granitemoehybrid.py (mamba2_chunk_scan,
// mamba2_selective_state_update, segment_sum); PyTorch's native/Linear.cpp (einsum,
// sumproduct_pair) and FunctionsManual.cpp (clamp_backward).
#include "estimate/transformers/chunk_scan.h"

#include <utility>

#include "estimate/one_gradient.h"

namespace headroom::estimate::transformers {
namespace {

// F.softplus, which autocast runs in fp32, and torch.clamp to both limits, whose derivative makes a
// mask of bools for each.
Tensor limited_step(Run& run, const Tensor& given, const Tensor& bias) {
  Tape& tape = run.tape;
  Tensor step = ops::add(tape, given, bias, "dt.with_bias");
  step = ops::silu(tape, run.autocast_to_fp32(step, "dt.fp32"), "dt.softplus");
  const Meta meta = step.meta();
  return tape.connect(tape.empty("dt.clamped", meta), {step}, {step},
                      [=](Tape& t, const Tensor&, const Node&) -> Tensors {
                        const Meta bools{meta.shape, Element::uint8};
                        const Tensor above = t.empty("dt.mask", bools);
                        const Tensor below = t.empty("dt.mask", bools);
                        return {t.empty("dt.grad", meta)};
                      });
}

// reshape of what does not lie so: a copy, whose gradient is a view of the one that comes.
Tensor reshaped(Tape& tape, const Tensor& x, const Shape& to, bool lies_so, Name name) {
  if (lies_so) return Tape::view(x, to);
  return tape.connect(tape.empty(name, {to, x.element}), {x}, {},
                      [](Tape&, Tensor grad, const Node&) -> Tensors {
                        grad.viewed = true;
                        return {std::move(grad)};
                      });
}

// segment_sum of [..., n] → [..., n, n].
Tensor segment_sum(Tape& tape, const Tensor& x, Name name) {
  Meta square = x.meta();
  const std::uint64_t size = square.shape.back();
  square.shape.push_back(size);
  const Meta bools{{size, size}, Element::uint8};
  Tensor wide = x;  // expand: its gradient is a sum.
  wide.shape = square.shape;
  wide.node = nullptr;
  wide = tape.connect(wide, {x}, {}, one_gradient(name + ".expanded", x.meta()));
  Tensor mask = tape.empty(name + ".mask", bools);
  const Tensor masked =
      ops::masked_fill(tape, wide, tape.empty(name + ".not_mask", bools), name + ".masked");
  const Tensor sums = ops::cumsum(tape, masked, name + ".cumsum");
  mask = tape.empty(name + ".mask", bools);
  return ops::masked_fill(tape, sums, tape.empty(name + ".not_mask", bools), name);
}

// By chunks [batch, chunks, chunk, heads, …], all in fp32.
struct Chunks {
  Tensor x;     // [… head_dim], times the step
  Tensor a;     // [batch, heads, chunks, chunk]
  Tensor b, c;  // [… state]
};

// A factor of a product, and whether it lies as the product wants it: else it is copied.
struct Factor {
  const Tensor& values;
  bool lies = false;
};
struct ProductSize {
  std::uint64_t rows, inner, columns;
};

// One product for each head of each chunk. Heads lie behind tokens, so that all but one chunk's are
// copied for it, and the gradient of what it gives likewise.
class HeadProducts {
 public:
  HeadProducts(Run& run, std::uint64_t batch, std::uint64_t chunks, std::uint64_t heads)
      : run_(run), batches_(batch * chunks * heads), one_(batch * chunks == 1 || heads == 1) {}

  // einsum("…l·, …·p → …lp"), left [rows, inner] and right [inner, columns] of each head.
  Tensor operator()(const Factor& left, const Factor& right, const ProductSize& size, Name name,
                    bool gradient_lies = false) const {
    Tape& tape = run_.tape;
    const auto [rows, inner, columns] = size;
    const Tensor first =
        reshaped(tape, left.values, {batches_, rows, inner}, left.lies || one_, name + ".left");
    const Tensor second = reshaped(tape, right.values, {batches_, inner, columns},
                                   right.lies || one_, name + ".right");
    const Tensor y =
        ops::matmul(tape, run_.autocast(first, name + ".left_input"),
                    run_.autocast(second, name + ".right_input"), {batches_, rows, columns}, name);
    return gradient_lies || one_ ? y : ops::part_of(tape, y, y.shape);
  }

 private:
  Run& run_;
  std::uint64_t batches_;
  bool one_;
};

// What each chunk's state was before it: [batch, chunks + 1, heads, head_dim, state], the last one
// that behind all.
Tensor carry_states(Run& run, const Tensor& states, const Tensor& sums, Tensor& before) {
  Tape& tape = run.tape;
  const std::uint64_t batch = states.shape[0], chunks = states.shape[1], heads = states.shape[2];
  const std::uint64_t size = states.shape[3] * states.shape[4], all = chunks + 1;
  if (!before.defined())
    before = tape.empty("previous_states",
                        {{batch, 1, heads, states.shape[3], states.shape[4]}, states.element});
  const Shape joined = {batch, all, heads, states.shape[3], states.shape[4]};
  const Tensor whole = ops::join(tape, {before, states}, joined, "states.joined");
  const Tensor ends = ops::part_of(tape, sums, {batch, heads, chunks});
  const Tensor decay = ops::exp(
      tape, segment_sum(tape, ops::pad(tape, ends, {batch, heads, all}, "ends"), "ends.segsum"),
      "decay_chunk");
  const bool lies = batch == 1;
  const Tensor right = reshaped(tape, whole, {batch * heads, all, size}, lies, "new_states.right");
  const Tensor y = ops::matmul(
      tape, run.autocast(Tape::view(decay, {batch * heads, all, all}), "new_states.left_input"),
      run.autocast(right, "new_states.right_input"), {batch * heads, all, size}, "new_states");
  return Tape::view(lies ? y : ops::part_of(tape, y, y.shape), joined);
}

Chunks into_chunks(Run& run, const Mamba2& shape, ChunkScanInput& in, std::uint64_t chunks,
                   Tensor& skipped) {
  Tape& tape = run.tape;
  const std::uint64_t batch = in.x.shape[0], tokens = in.x.shape[1];
  const std::uint64_t heads = shape.heads, padded = chunks * shape.chunk;
  const Tensor step = in.step = limited_step(run, in.step, in.step_bias);
  Tensor x = ops::cast(tape, in.x, Element::fp32, "x.fp32");
  in.x = {};
  const auto by_head = [&](Tensor& part, Name name) {
    const Tensor wide = ops::cast(tape, std::exchange(part, {}), Element::fp32, name + ".fp32");
    const Shape to = {batch, tokens, heads, shape.state};
    return shape.groups == heads ? reshaped(tape, wide, to, false, name + ".heads")
                                 : ops::repeat(tape, wide, to, name + ".heads");
  };
  Tensor b = by_head(in.b, "B"), c = by_head(in.c, "C");
  const auto pad = [&](const Tensor& part, Name name) {
    Shape to = part.shape;
    to[1] = padded;
    return ops::pad(tape, part, to, name);
  };
  skipped =
      ops::mul(tape, Tape::view(in.skip, {heads, 1}), pad(x, "D_residual.padded"), "D_residual");
  const auto wide_step = [&] { return ops::cast(tape, step, Element::fp32, "dt.fp32"); };
  x = ops::mul(tape, x, Tape::view(wide_step(), {batch, tokens, heads, 1}), "x.discrete");
  Tensor a = ops::mul(tape, in.a, wide_step(), "A.discrete");
  Chunks parts;
  parts.x = pad(x, "x.padded");
  parts.a = pad(a, "A.padded");
  parts.b = pad(b, "B.padded");
  parts.c = pad(c, "C.padded");
  const auto chunked = [&](Tensor& part, std::uint64_t width) {
    part = Tape::view(part, {batch, chunks, shape.chunk, heads, width});
  };
  chunked(parts.x, shape.head_dim);
  chunked(parts.b, shape.state);
  chunked(parts.c, shape.state);
  parts.a = Tape::view(parts.a, {batch, heads, chunks, shape.chunk});
  return parts;
}

Tensor scan_by_chunks(Run& run, const Mamba2& shape, ChunkScanInput in, Tensor& state,
                      bool keeps_state) {
  Tape& tape = run.tape;
  const std::uint64_t batch = in.x.shape[0], tokens = in.x.shape[1], heads = shape.heads;
  const std::uint64_t chunk = shape.chunk, chunks = (tokens + chunk - 1) / chunk;
  const std::uint64_t width = shape.head_dim, states_size = shape.state;
  Tensor skipped;
  const Chunks parts = into_chunks(run, shape, in, chunks, skipped);
  const HeadProducts product(run, batch, chunks, heads);
  const Tensor sums = ops::cumsum(tape, parts.a, "A_cumsum");
  const Tensor decay = ops::exp(tape, segment_sum(tape, parts.a, "segment_sum"), "L");
  const Tensor scores = product({parts.c}, {parts.b}, {chunk, states_size, chunk}, "G",
                                /*gradient_lies=*/true);
  const Tensor weights = ops::mul(tape, scores, Tape::view(decay, scores.shape), "M");
  const Tensor inside = product({weights, true}, {parts.x}, {chunk, chunk, width}, "Y_diag");
  const Shape columns = {batch, chunks, chunk, heads, 1};
  const Tensor last = ops::part_of(tape, sums, {batch, heads, chunks, 1});
  const Tensor to_end =
      ops::exp(tape, ops::subtract(tape, last, sums, "decay_states.exponent"), "decay_states");
  const Tensor decayed = ops::mul(tape, parts.b, Tape::view(to_end, columns), "B_decay");
  Tensor states = product({decayed}, {parts.x}, {states_size, chunk, width}, "states");
  states = Tape::view(states, {batch, chunks, heads, width, states_size});
  Tensor before = state;  // A name holds it to the end, as it does the steps.
  const Tensor carried = carry_states(run, std::exchange(states, {}), sums, before);
  if (keeps_state) state = carried;
  const Tensor starts = ops::part_of(tape, carried, {batch, chunks, heads, width, states_size});
  const Tensor from_start = ops::exp(tape, sums, "state_decay_out");
  const Tensor read =
      product({parts.c}, {starts, chunks == 1}, {chunk, states_size, width}, "C_times_states");
  const Shape values = {batch, chunks, chunk, heads, width};
  const Tensor between =
      ops::mul(tape, Tape::view(read, values), Tape::view(from_start, columns), "Y_off");
  Tensor y = ops::add(tape, Tape::view(inside, values), between, "output.sum");
  y = reshaped(tape, y, {batch, chunks * chunk, heads, width}, false, "output.rows");
  y = ops::add(tape, y, skipped, "output");
  return chunks * chunk == tokens ? y : ops::part_of(tape, y, {batch, tokens, heads, width});
}

// One token.
Tensor scan_by_token(Run& run, const Mamba2& shape, const ChunkScanInput& in, const Tensor& state) {
  Tape& tape = run.tape;
  const std::uint64_t batch = in.x.shape[0];
  const Element narrow = in.x.element;
  const Shape whole = {batch, shape.heads, shape.head_dim, shape.state};
  const Tensor step = tape.empty("dt", {{batch, shape.heads, shape.head_dim}, narrow});
  Tensor exponent = tape.empty("dA.exponent", {whole, Element::fp32});
  const Tensor decay = tape.empty("dA", {whole, Element::fp32});
  exponent = {};
  const Tensor by_step = tape.empty("dB", {whole, narrow});
  const Tensor inflow = tape.empty("dBx", {whole, narrow});
  Tensor kept = tape.empty("state.kept", state);
  Tensor next = tape.empty("state.next", state);
  kept = {};
  next = ops::cast(tape, next, narrow, "state.narrow");
  Tensor out = tape.empty("out", {in.x.shape, narrow});
  tape.multiply();
  return out;
}

}  // namespace

Tensor chunk_scan(Run& run, const Mamba2& shape, ChunkScanInput in, Tensor& state,
                  bool keeps_state) {
  if (state.defined() && in.x.shape[1] == 1) return scan_by_token(run, shape, in, state);
  return scan_by_chunks(run, shape, std::move(in), state, keeps_state);
}

}  // namespace headroom::estimate::transformers
