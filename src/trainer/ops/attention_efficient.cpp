// SPDX-License-Identifier: Apache-2.0
// Attention in blocks of query rows (the method of Rabe and Staats 2021, with the backward pass of
// Dao et al. 2022): a block's scores are computed, used and overwritten, and computed again from
// the saved logsumexp in the backward pass. Keys behind a block's last query, or in front of its
// first query's window, are not computed at all.
#include <array>
#include <vector>

#include "trainer/ops/attention.h"
#include "trainer/ops/attention_heads.h"
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

// Score buffers and the mask, shared by all blocks of all heads of a pass.
class Workspace {
 public:
  Workspace(const AttentionShape& shape, at::ScalarType dtype, int buffers)
      : scale_(score_scale(shape)),
        window_(shape.windowed() ? shape.window : shape.sequence),
        future_(future_mask(std::min(attention_rows, shape.sequence))) {
    for (int i = 0; i < buffers; ++i) {
      buffers_.push_back(at::empty({future_.size(0) * shape.sequence}, dtype));
    }
  }

  double scale() const { return scale_; }

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

  // scale · q · kᵀ, −∞ where a key is hidden, in buffer 0. `q`: the block's rows; `k`: the whole
  // head.
  at::Tensor scores(const Block& block, const at::Tensor& q, const at::Tensor& k) const {
    at::Tensor scores = buffer(0, block);
    scores.addmm_(q, block.keys_of(k).t(), 0, scale_);
    scores.narrow(1, block.first - block.first_key, block.rows)
        .masked_fill_(future_.narrow(0, 0, block.rows).narrow(1, 0, block.rows), -INFINITY);
    hide_past(block, scores);
    return scores;
  }

 private:
  // The first row whose window begins behind first_key hides one key, the next one two, …: the
  // mask of the future with rows and columns exchanged.
  void hide_past(const Block& block, const at::Tensor& scores) const {
    const std::int64_t open = window_ - 1 - (block.first - block.first_key);
    const std::int64_t rows = block.rows - open;
    if (rows <= 1) return;
    scores.narrow(0, open, rows)
        .narrow(1, 0, rows)
        .masked_fill_(future_.t().narrow(0, 0, rows).narrow(1, 0, rows), -INFINITY);
  }

  double scale_;
  std::int64_t window_;
  at::Tensor future_;
  std::vector<at::Tensor> buffers_;
};

void forward_head(const Workspace& workspace, const QueryHead& head, const KvHead& kv) {
  workspace.for_blocks(head.q.size(0), [&](const Block& block) {
    const at::Tensor scores = workspace.scores(block, widen(block.rows_of(head.q)), kv.k);
    const at::Tensor largest = scores.amax(1, /*keepdim=*/true);
    scores.sub_(largest).exp_();
    const at::Tensor sum = scores.sum(1, /*keepdim=*/true);
    scores.div_(sum);
    write_product(block.rows_of(head.out), scores, block.keys_of(kv.v), 1);
    block.rows_of(head.saved).copy_(sum.log_().add_(largest));
  });
}

// Adds one query head's part to the gradients of its keys and values, and writes `dq`.
void backward_head(const Workspace& workspace, const QueryHead& head, const KvHead& kv,
                   const KvHead& kv_grad, const std::array<at::Tensor, 2>& grad_and_dq) {
  const auto& [grad, dq] = grad_and_dq;
  workspace.for_blocks(head.q.size(0), [&](const Block& block) {
    const at::Tensor q = widen(block.rows_of(head.q));
    const at::Tensor dout = widen(block.rows_of(grad));
    const at::Tensor weights = workspace.scores(block, q, kv.k);
    weights.sub_(block.rows_of(head.saved)).exp_();
    block.keys_of(kv_grad.v).addmm_(weights.t(), dout);

    const at::Tensor dscores = workspace.buffer(1, block);
    dscores.addmm_(dout, block.keys_of(kv.v).t(), 0);
    // d softmax: p · (dp − Σ dp·p), and Σ dp·p = Σ dout·out.
    dscores.sub_((dout * block.rows_of(head.out)).sum(1, /*keepdim=*/true)).mul_(weights);
    write_product(block.rows_of(dq), dscores, block.keys_of(kv.k), workspace.scale());
    block.keys_of(kv_grad.k).addmm_(dscores.t(), q, 1, workspace.scale());
  });
}

}  // namespace

AttentionResult attention_efficient(const Qkv& in, const AttentionShape& shape) {
  const at::ScalarType sums = wide(in.q.scalar_type());
  AttentionResult result{
      at::empty_like(in.q),
      at::empty({shape.batch * shape.heads, shape.sequence, 1}, in.q.options().dtype(sums))};

  const TagScope scope(Component::workspace);
  const Workspace workspace(shape, sums, 1);
  for_kv_heads(
      shape, [&](std::int64_t sample, std::int64_t kv_index, std::int64_t first, std::int64_t end) {
        const KvHead kv = kv_head(in, shape, sample, kv_index);
        for (std::int64_t index = first; index < end; ++index) {
          forward_head(workspace, query_head(in, result, shape, sample, index), kv);
        }
      });
  return result;
}

Qkv attention_efficient_backward(const at::Tensor& grad, const Qkv& in,
                                 const AttentionResult& result, const AttentionShape& shape) {
  const TagScope scope(Component::workspace);
  Qkv grads{at::empty_like(in.q), at::empty_like(in.k), at::empty_like(in.v)};
  const Workspace workspace(shape, wide(in.q.scalar_type()), 2);
  for_kv_heads(
      shape, [&](std::int64_t sample, std::int64_t kv_index, std::int64_t first, std::int64_t end) {
        const KvHead kv = kv_head(in, shape, sample, kv_index);
        const KvGradient kv_grad(grads, shape, sample, kv_index);
        for (std::int64_t index = first; index < end; ++index) {
          backward_head(
              workspace, query_head(in, result, shape, sample, index), kv, kv_grad.sum(),
              {head_view(grad, shape, sample, index), head_view(grads.q, shape, sample, index)});
        }
        kv_grad.store();
      });
  return grads;
}

}  // namespace headroom::trainer::ops
