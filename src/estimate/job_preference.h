// SPDX-License-Identifier: Apache-2.0
// The keys of preference training, named as TRL's own options are (huggingface/trl:
// trl/trainer/dpo_config.py, grpo_config.py).
#pragma once

#include "base/document_fwd.h"
#include "base/document_reader.h"
#include "estimate/job.h"

namespace headroom::estimate {

// method.trainer, precompute_ref_log_probs, beta, loss_type, use_vllm and
// vllm_gpu_memory_utilization. After method.kind.
void read_preference_method(TableReader& method, Job& job);
// batch.max_prompt_length, max_completion_length, num_generations, steps_per_generation and
// num_iterations. After batch.sequence, which becomes the prompt and the answer together.
void read_preference_batch(TableReader& batch, Job& job);
// engine.trl. After method and batch.
void read_preference_engine(TableReader& engine, Job& job);

// Adds them to what describes the job. Nothing for text as it is.
void write_preference(const Job& job, Json& method, Json& batch, Json& engine);

}  // namespace headroom::estimate
