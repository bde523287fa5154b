// SPDX-License-Identifier: Apache-2.0
// Attention in blocks of query rows (the method of Rabe and Staats 2021, with the backward pass of
// Dao et al. 2022): a block's scores are computed, used and overwritten, and computed again from
// the saved logsumexp in the backward pass. Keys behind a block's last query, or in front of its
// first query's window, are not computed at all.
#include <array>
#include <vector>

#include "trainer/ops/attention.h"
#include "trainer/ops/attention_heads.h"
#include "trainer/ops/score_rows.h"
#include "trainer/torch_memory.h"

namespace headroom::trainer::ops {
namespace {

using allocator::Component;

// The query rows [first, first + rows) and the keys [first_key, first + rows) that they may see.
struct Block {
  std::int64_t first;
  std::int64_t rows;
  std::int64_t first_key;

  std::int64_t keys() const { return first + rows - first_key; }
  at::Tensor rows_of(const at::Tensor& head) const { return head.narrow(0, first, rows); }
  at::Tensor keys_of(const at::Tensor& head) const { return head.narrow(0, first_key, keys()); }
};

// What all blocks of all heads of a pass share: buffers of scores, and the products' temporary.
class Workspace {
 public:
  Workspace(const AttentionShape& shape, const at::TensorOptions& wide, int buffers)
      : scale_(score_scale(shape)),
        cap_(shape.cap),
        window_(seen_keys(shape)),
        space_(attention_space(shape, wide)) {
    for (int i = 0; i < buffers; ++i) {
      buffers_.push_back(
          at::empty({std::min(attention_rows, shape.sequence) * shape.sequence}, wide));
    }
  }

  double scale() const { return scale_; }
  const at::Tensor& space() const { return space_; }

  // Calls work(block) for all rows of a sample.
  template <class Work>
  void for_blocks(std::int64_t length, const Work& work) const {
    for_row_blocks(length, attention_rows, [&](std::int64_t first, std::int64_t rows) {
      work(Block{first, rows, std::max<std::int64_t>(0, first - window_ + 1)});
    });
  }

  // The start of buffer `index` as a contiguous [rows, keys].
  at::Tensor buffer(std::size_t index, const Block& block) const {
    return buffers_[index].narrow(0, 0, block.rows * block.keys()).view({block.rows, block.keys()});
  }

  Sight sight(const Block& block) const { return {block.first, block.first_key, window_}; }

  bool caps() const { return cap_ > 0; }

  // scale · q · kᵀ in buffer 0, capped. `q`: the block's rows; `k`: the whole head; `slopes` of the
  // cap, if any: a buffer.
  at::Tensor scores(const Block& block, const at::Tensor& q, const at::Tensor& k,
                    const at::Tensor& slopes = {}) const {
    at::Tensor scores = buffer(0, block);
    product_in(space_, scores, q, block.keys_of(k).t(), {.alpha = scale_});
    if (caps()) soft_cap_rows(scores, sight(block), cap_, slopes);
    return scores;
  }

 private:
  double scale_;
  double cap_;
  std::int64_t window_;
  at::Tensor space_;
  std::vector<at::Tensor> buffers_;
};

void forward_head(const Workspace& workspace, const QueryHead& head, const KvHead& kv,
                  const at::Tensor& logsumexp) {
  workspace.for_blocks(head.q.size(0), [&](const Block& block) {
    const at::Tensor scores = workspace.scores(block, widen(block.rows_of(head.q)), kv.k);
    softmax_rows(scores, workspace.sight(block), block.rows_of(logsumexp));
    write_product(workspace.space(), block.rows_of(head.out), scores, block.keys_of(kv.v), 1);
  });
}

// Of one query head: what forward saved, d out, and where d q goes.
struct HeadGradient {
  at::Tensor logsumexp, grad, dq;
};

// Adds one query head's part to the gradients of its keys and values, and writes `dq`.
void backward_head(const Workspace& workspace, const QueryHead& head, const KvHead& kv,
                   const KvHead& kv_grad, const HeadGradient& of) {
  const auto& [logsumexp, grad, dq] = of;
  const at::Tensor& space = workspace.space();
  workspace.for_blocks(head.q.size(0), [&](const Block& block) {
    const at::Tensor q = widen(block.rows_of(head.q));
    const at::Tensor dout = widen(block.rows_of(grad));
    const at::Tensor dscores = workspace.buffer(1, block);  // Until then the slopes of the cap.
    const at::Tensor weights = workspace.scores(block, q, kv.k, dscores);
    softmax_rows_again(weights, workspace.sight(block), block.rows_of(logsumexp));
    product_in(space, block.keys_of(kv_grad.v), weights.t(), dout, {.beta = 1});
    // Of the softmax p · (dp − Σ dp·p), of the cap its slope: p takes the latter up beforehand.
    if (workspace.caps()) weigh_rows(weights, workspace.sight(block), dscores);

    product_in(space, dscores, dout, block.keys_of(kv.v).t());
    softmax_rows_backward(dscores, workspace.sight(block), weights, dout,
                          widen(block.rows_of(head.out)));
    write_product(space, block.rows_of(dq), dscores, block.keys_of(kv.k), workspace.scale());
    product_in(space, block.keys_of(kv_grad.k), dscores.t(), q,
               {.beta = 1, .alpha = workspace.scale()});
  });
}

}  // namespace

AttentionResult attention_efficient(const Qkv& in, const AttentionShape& shape) {
  const at::ScalarType sums = wide(in.q.scalar_type());
  AttentionResult result{at::empty_like(in.q),
                         at::empty({in.q.size(0) * shape.heads}, in.q.options().dtype(sums))};

  const TagScope scope(Component::workspace);
  const Workspace workspace(shape, in.q.options().dtype(sums), 1);
  for_kv_heads(shape, [&](const Segment& sample, std::int64_t kv_index, std::int64_t first,
                          std::int64_t end) {
    const KvHead kv = kv_head(in, shape, sample, kv_index);
    for (std::int64_t index = first; index < end; ++index) {
      forward_head(workspace, query_head(in, result, shape, sample, index), kv,
                   logsumexp_of(result, shape, sample, index));
    }
  });
  return result;
}

Qkv attention_efficient_backward(const at::Tensor& grad, const Qkv& in,
                                 const AttentionResult& result, const AttentionShape& shape) {
  const TagScope scope(Component::workspace);
  Qkv grads = make_gradients(in, shape);
  const Workspace workspace(shape, in.q.options().dtype(wide(in.q.scalar_type())), 2);
  for_kv_heads(shape, [&](const Segment& sample, std::int64_t kv_index, std::int64_t first,
                          std::int64_t end) {
    const KvHead kv = kv_head(in, shape, sample, kv_index);
    const KvGradient kv_grad(grads, shape, sample, kv_index);
    for (std::int64_t index = first; index < end; ++index) {
      backward_head(
          workspace, query_head(in, result, shape, sample, index), kv, kv_grad.sum(),
          {logsumexp_of(result, shape, sample, index), head_view(grad, shape, sample, index),
           head_view(grads.q, shape, sample, index)});
    }
    kv_grad.store();
  });
  return grads;
}

}  // namespace headroom::trainer::ops
