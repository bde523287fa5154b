// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/hipblaslt.h"

namespace headroom::findings {

const logs::Observation* refused_when_off(const LogSubject& subject) {
  for (const facts::Setting& setting : subject.scene.settings) {
    const bool of_it = setting.name == "TORCH_BLAS_PREFER_HIPBLASLT" ||
                       setting.name == "ROCBLAS_USE_HIPBLASLT" ||
                       setting.name == "DISABLE_ADDMM_CUDA_LT";
    const bool is_off = setting.value == (setting.name.starts_with("DISABLE") ? "1" : "0");
    if (!of_it || !is_off) continue;
    for (const logs::Observation* refused : subject.log.of("hipblaslt-refused")) {
      const bool is_stated = refused->log_name != setting.source.path;
      if (is_stated || static_cast<int>(refused->line) > setting.source.line) return refused;
    }
  }
  return nullptr;
}

}  // namespace headroom::findings
