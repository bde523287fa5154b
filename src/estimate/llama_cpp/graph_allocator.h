// SPDX-License-Identifier: Apache-2.0
// How large the buffer of each device gets when a graph's results are laid into it. Source of the
// rules: ggml-org/llama.cpp, ggml/src/ggml-alloc.c (ggml_gallocr_alloc_graph_impl and
// ggml_dyn_tallocr_alloc): best fit among the gaps, the open end last; a result takes the place of
// an operand that nobody else reads.
#pragma once

#include <cstdint>
#include <vector>

#include "estimate/llama_cpp/ggml_graph.h"
#include "estimate/llama_cpp/scheduler.h"

namespace headroom::estimate::llama {

// Bytes of each backend's buffer. `alignments`: one for each backend.
std::vector<std::uint64_t> reserve(const Graph& graph, const Schedule& schedule,
                                   const std::vector<std::uint64_t>& alignments);

}  // namespace headroom::estimate::llama
