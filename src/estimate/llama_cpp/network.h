// SPDX-License-Identifier: Apache-2.0
// The graph of one step of a model, in the order in which llama.cpp builds it: the order decides
// what is alive at the same time. Source: ggml-org/llama.cpp, src/llama-graph.cpp (build_qkv,
// build_attn, build_ffn, build_moe_ffn), src/llama-kv-cache.cpp and src/models/*.cpp.
#pragma once

#include "estimate/llama_cpp/context.h"
#include "estimate/llama_cpp/ggml_graph.h"
#include "estimate/llama_cpp/model.h"
#include "estimate/llama_cpp/placement.h"

namespace headroom::estimate::llama {

Graph build_graph(const Model& model, const Options& options, const Context& context,
                  const Placement& placement);

}  // namespace headroom::estimate::llama
