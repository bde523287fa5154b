// SPDX-License-Identifier: Apache-2.0
// How many parameters an Architecture has: one function for all families, over its words alone.
#pragma once

#include <cstdint>

#include "estimate/models/architecture.h"

namespace headroom::estimate {

// All of them: every expert, a head that shares the embedding once, an embedding that two stacks
// share once, stored tables of positions. What parse_architecture gives does not overflow.
std::uint64_t parameter_count(const Architecture& model);
std::uint64_t parameter_count(const Projector& projector);
// Of a stack: its layers, its final norm, and what feeds it but for the rows of the vocabulary.
std::uint64_t parameter_count(const Stack& stack);

// Of the convolutions over samples of sound, with their norms.
std::uint64_t convolution_parameters(const Waveform& wave);

// Elements of the matrices that a token passes through, for counting operations: two for each in
// the forward pass. Of experts only those it is sent to; no embedding, which is looked up; a head
// unless it is used once a sample. Of two stacks, both.
std::uint64_t matrix_elements_per_token(const Architecture& model);
std::uint64_t matrix_elements_per_token(const Stack& stack);

}  // namespace headroom::estimate
