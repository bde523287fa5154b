// SPDX-License-Identifier: Apache-2.0
// Quantised matrices in safetensors files, as transformers and bitsandbytes read and write them.
// Beside a weight `q_proj.weight` there are
//
//   nf4     weight (uint8 [numbers/2, 1]), weight.absmax, weight.quant_map, the JSON of
//           trainer/quantised/quant_state.h, and where the scales are quantised as well
//           weight.nested_absmax and weight.nested_quant_map
//   int8    weight (int8 [out, in]), SCB (fp32 [out]), weight_format, which says nothing here
//
// Sources: bitsandbytes: bitsandbytes/functional.py (QuantState), nn/modules.py (Linear4bit,
// Linear8bitLt._save_to_state_dict); transformers: src/transformers/utils/quantization_config.py.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/document_fwd.h"
#include "base/result.h"
#include "trainer/quantised_matrix.h"
#include "trainer/tensor_places.h"

namespace headroom::trainer {

// How files hold a weight, and nothing if it is plain numbers or not there.
std::optional<estimate::WeightFormat> stored_format(const Places& places, const std::string& name);

// The tensors of such a matrix with the dtypes and shapes that they must have; the JSON's shape is
// empty, as any length is right.
struct StoredPart {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
};
std::vector<StoredPart> stored_parts(const std::string& name, const QuantisedMatrix& matrix);

// Requires: the places hold every one of stored_parts(), as they must be. Fails where their
// contents say that they are another format than they look like.
Status read_quantised(const Places& places, const std::string& name, QuantisedMatrix& into);

// Quantises a plain weight piece by piece: rows of it are held in `dtype` (workspace), 4 MiB of
// fp32 or 64 rows. Of one that is stored [in, out] it is all of it.
Status quantise_stored(const Place& place, at::ScalarType dtype, bool stored_by_input,
                       QuantisedMatrix& into);

// Adds what read_quantised() reads.
void add_parts(const std::string& name, const QuantisedMatrix& matrix,
               std::vector<NamedTensor>& tensors);

// The object of a config.json that tells transformers so; `compute` is what it computes in.
Json make_quantization_config(estimate::WeightFormat format, const std::string& compute);

}  // namespace headroom::trainer
