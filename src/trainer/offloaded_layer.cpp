// SPDX-License-Identifier: Apache-2.0
#include "trainer/offloaded_layer.h"

#include <ATen/ATen.h>

#include <map>
#include <vector>

#include "base/require.h"
#include "trainer/torch_memory.h"

namespace headroom::trainer {
namespace {

using allocator::Component;

// The structured binding names every field: one more has to be added here as well.
std::vector<at::Tensor*> tensors_of(LayerSaved& saved) {
  auto& [x, norm1, q_norm, k_norm, qkv, attention, attention_out, mlp_out, h, norm2, gate, up, act,
         projections, qkv_adapter, gate_up_adapter] = saved;
  std::vector<at::Tensor*> tensors = {
      &x,     &norm1.out, &norm1.stats, &q_norm.x,        &q_norm.rstd,     &k_norm.x,
      &qkv.q, &qkv.k,     &k_norm.rstd, &qkv.v,           &qkv.all,         &attention.out,
      &h,     &norm2.out, &norm2.stats, &attention.saved, &attention_out.x, &attention_out.stats,
      &gate,  &up,        &act,         &mlp_out.x,       &mlp_out.stats};
  const auto add = [&](ops::LinearSaved& one) {
    auto& [reduced, dropped] = one;
    tensors.insert(tensors.end(), {&reduced, &dropped});
  };
  for (ops::LinearSaved& one : projections) add(one);
  add(qkv_adapter);
  add(gate_up_adapter);
  return tensors;
}

// Calls make(numbers, type) once for each piece of memory, copies it there, and makes every tensor
// the same view of the copy.
template <class Make>
void move_tensors(LayerSaved& saved, const Make& make) {
  std::map<const c10::StorageImpl*, at::Tensor> moved;
  for (at::Tensor* tensor : tensors_of(saved)) {
    if (!tensor->defined()) continue;
    at::Tensor& copy = moved[tensor->storage().unsafeGetStorageImpl()];
    if (!copy.defined()) {
      const auto numbers =
          static_cast<std::int64_t>(tensor->storage().nbytes() / tensor->element_size());
      copy = make(numbers, tensor->scalar_type());
      copy.copy_(tensor->as_strided({numbers}, {1}, 0));
    }
    require(copy.scalar_type() == tensor->scalar_type(), "memory holds numbers of one type");
    *tensor = copy.as_strided(tensor->sizes(), tensor->strides(), tensor->storage_offset());
  }
}

}  // namespace

void to_host(LayerSaved& saved, HostDomain& host) {
  move_tensors(saved, [&](std::int64_t numbers, at::ScalarType type) {
    return host.empty(numbers, type, Component::activations);
  });
}

void to_device(LayerSaved& saved, const at::Device& device) {
  const TagScope scope(Component::activations);
  move_tensors(saved, [&](std::int64_t numbers, at::ScalarType type) {
    return at::empty({numbers}, at::TensorOptions().dtype(type).device(device));
  });
}

}  // namespace headroom::trainer
