// SPDX-License-Identifier: Apache-2.0
// One line for each signature of noise and of progress, as the programs word them: it is known by
// that name, and a run that did its work stays healthy beside it.
#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

using Lines = std::vector<std::pair<std::string, std::string>>;

std::vector<std::string> ids_of(const std::string& line) {
  logs::Observations observations;
  logs::LogReader reader(testing::tables().matcher, observations, 0, "job.log");
  reader.feed(line);
  reader.finish();
  std::vector<std::string> ids;
  for (const logs::Observation& one : observations.all()) ids.push_back(one.id());
  return ids;
}

const Lines& noise() {
  static const Lines lines = {
      {"amdgpu-tmz", "amdgpu 0000:03:00.0: amdgpu: Trusted Memory Zone (TMZ) feature disabled"},
      {"amdgpu-no-ecc", "amdgpu 0000:03:00.0: amdgpu: SRAM ECC is not presented."},
      {"amdgpu-overdrive", "amdgpu: Overdrive is enabled, please disable it before reporting any"},
      {"amdgpu-psp-database", "amdgpu 0000:04:00.0: amdgpu: PSP runtime database doesn't exist"},
      {"amdgpu-securedisplay", "amdgpu 0000:04:00.0: amdgpu: Secure display: Generic Failure."},
      {"amdgpu-smu-version", "amdgpu 0000:0b:00.0: amdgpu: SMU driver if version not matched"},
      {"amdgpu-runtime-pm", "amdgpu 0000:0b:00.0: amdgpu: Using BACO for runtime pm"},
      {"amdgpu-large-bar", "[drm] Not enough PCI address space for a large BAR."},
      {"amdgpu-optional-firmware",
       "amdgpu 0000:0b:00.0: Direct firmware load for amdgpu/navi12_cap.bin failed with error -2"},
      {"amdgpu-display-link",
       "amdgpu 0000:c1:00.0: [drm] *ERROR* lttpr_caps phy_repeater_cnt is 0xff, forcing it to "
       "0x80"},
      {"amdgpu-ras-ready", "amdgpu 0000:1a:00.0: amdgpu: RAS INFO: ras initialized successfully"},
      {"amdgpu-scheduler-skipped", "[drm] scheduler comp_1.2.6 is not ready, skipping"},
      {"module-taints",
       "amdgpu: module verification failed: signature and/or required key missing - tainting"},
      {"workqueue-hogged",
       "workqueue: svm_range_restore_work [amdgpu] hogged CPU for >10000us 4 times, consider"},
      {"edac-no-ecc", "EDAC amd64: Node 0: DRAM ECC disabled."},
      {"mce-decoding", "MCE: In-kernel MCE decoding enabled."},
      {"aer-ready", "pcieport 0000:00:01.1: AER: enabled with IRQ 28"},
      {"acpi-bios-bug", "ACPI BIOS Error (bug): Could not resolve symbol [\\_SB.X], AE_NOT_FOUND"},
      {"radv-conformance",
       "WARNING: radv is not a conformant Vulkan implementation, testing use only."},
      {"initramfs-firmware",
       "W: Possible missing firmware /lib/firmware/amdgpu/gc_11_0_5_mec.bin for module amdgpu"},
      {"dmesg-refused", "dmesg: read kernel buffer failed: Operation not permitted"},
      {"rocblas-falls-back", "rocBLAS warning: hipBlasLT failed, falling back to tensile."},
      {"rocblas-falls-back", "rocBLAS error: No hipBLASLt solution found"},
      {"attention-experimental",
       "UserWarning: Mem Efficient attention on Current AMD GPU is still experimental. Enable it"},
      {"attention-experimental",
       "UserWarning: Flash attention support on Navi31 GPU is still expermentail. Please enable"},
      {"attention-kernel-absent",
       "UserWarning: 1Torch was not compiled with flash attention. (Triggered internally at x)"},
      {"xnack-request",
       "warning: xnack 'Off' was requested for a processor that does not support it!"},
      {"smi-low-power", "WARNING: AMD GPU device(s) is/are in a low-power state. Check power"},
      {"nvidia-tool-absent", "/bin/sh: 1: nvidia-smi: not found"},
      {"tf-numa",
       "successful NUMA node read from SysFS had negative value (-1), but there must be at least"},
      {"tf-cpu-features",
       "To enable the following instructions: AVX2 FMA, in other operations, rebuild TensorFlow"},
      {"tf-onednn", "I tensorflow/core/util/port.cc:153] oneDNN custom operations are on. You may"},
      {"tf-register-factory",
       "E0000 00:00:1744708234.717753 1370911 cuda_dnn.cc:8579] Unable to register cuDNN factory: "
       "Attempting to register factory for plugin cuDNN when one has already been registered"},
      {"tf-absl",
       "WARNING: All log messages before absl::InitializeLog() is called are written to"},
      {"tf-tensorrt", "W tensorflow/x.cc:38] TF-TRT Warning: Could not find TensorRT"},
      {"tf-end-of-data",
       "W tensorflow/core/framework/local_rendezvous.cc:404] Local rendezvous is aborting with "
       "status: OUT_OF_RANGE: End of sequence"},
      {"tf-delay-kernel",
       "2026-06-08 15:38:41.188641: E external/local_xla/xla/stream_executor/gpu_timer.cc:86] "
       "Delay kernel timed out: measured time has sub-optimal accuracy."},
      {"tf-retracing",
       "WARNING:tensorflow:5 out of the last 5 calls to <f> triggered tf.function "
       "retracing."},
      {"python-deprecation", "x.py:3: FutureWarning: You are using `torch.load` with odd defaults"},
      {"requests-dependency", "RequestsDependencyWarning: urllib3 (1.26.18) or chardet (3.0.4)"},
      {"torchvision-image",
       "UserWarning: Failed to load image Python extension: 'x.so: undefined "
       "symbol: _Z'"},
      {"inductor-autotune",
       "W1217 torch/_inductor/utils.py:1558] Not enough SMs to use "
       "max_autotune_gemm mode"},
      {"dynamo-recompiles", "W torch._dynamo hit config.recompile_limit (8)"},
      {"no-process-group-end", "Warning: WARNING: destroy_process_group() was not called before"},
      {"omp-threads", "Setting OMP_NUM_THREADS environment variable for each process to be 1 in"},
      {"ddp-unused",
       "Warning: find_unused_parameters=True was specified in DDP constructor, but "
       "did not find any unused parameters"},
      {"torch-usage-remarks", "UserWarning: None of the inputs have requires_grad=True. Gradients"},
      {"triton-absent", "A matching Triton is not available, some optimizations will not be"},
      {"triton-absent", "No module 'xformers'. Proceeding without it."},
      {"hf-attention-mask", "Setting `pad_token_id` to `eos_token_id`:2 for open-end generation."},
      {"hf-new-weights", "You should probably TRAIN this model on a down-stream task to be able"},
      {"hf-fork",
       "huggingface/tokenizers: The current process just got forked, after parallelism "
       "has already been used. Disabling parallelism to avoid deadlocks..."},
      {"hf-defaults", "Using a slow image processor as `use_fast` is unset and a slow processor"},
      {"hf-download", "Xet Storage is enabled for this repo, but the 'hf_xet' package is missing"},
      {"diffusers-remarks", "You have disabled the safety checker for <class 'x'> by passing"},
      {"ollama-version-file",
       "level=WARN msg=\"ollama recommends running x\" error=\"amdgpu version file missing: "
       "/sys/module/amdgpu/version stat /sys/module/amdgpu/version: no such file or directory\""},
      {"ollama-remarks",
       "level=WARN source=ggml.go:149 msg=\"key not found\" key=general.alignment"},
      {"llama-remarks",
       "llama_context: n_ctx_per_seq (4096) < n_ctx_train (131072) -- the full "
       "capacity of the model will not be utilized"},
      {"onnx-node-placement",
       "[W:onnxruntime:, session_state.cc:1169] Some nodes were not assigned "
       "to the preferred execution providers which may or may not have"},
      {"onnx-shape", "Expected shape from model of {1,512} does not match actual shape of {4,512}"},
      {"immich-idle", "ml  | [03/10/25 11:52:07] INFO     Shutting down due to inactivity."},
      {"vllm-remarks",
       "WARNING 01-02 10:00:00 [x.py:1] Using default MoE config. Performance "
       "might be sub-optimal!"},
      {"comfyui-remarks", "clip missing: ['text_projection.weight']"},
      {"gradio-version", "IMPORTANT: You are using gradio version 3.41.2, however version 4.44.1"},
      {"pip-remarks", "WARNING: Running pip as the 'root' user can result in broken permissions"},
      {"docker-remarks", "level=warning msg=\"compose.yml: the attribute `version` is obsolete\""},
      {"apt-remarks", "W: Target Packages (main/x) is configured multiple times in /etc/apt/x"},
      {"hipcc-unused", "clang: warning: argument unused during compilation: '-x'"},
  };
  return lines;
}

const Lines& progress() {
  static const Lines lines = {
      {"training-finished", "{'train_runtime': 812.3, 'train_samples_per_second': 4.1}"},
      {"training-finished", "`Trainer.fit` stopped: `max_epochs=10` reached."},
      {"checkpoint-saved", "Saving model checkpoint to out/checkpoint-500"},
      {"output-saved", "Image saved to out/0001.png"},
      {"tests-passed", "======= 812 passed, 2 skipped, 11 warnings in 61.20s (0:01:01) ======="},
      {"exit-zero", "Main process exited with code 0"},
      {"rocminfo-done", "*** Done ***"},
      {"rccl-test-done", "# Avg bus bandwidth    : 12.3"},
      {"gpu-device-created",
       "Created device /job:localhost/replica:0/task:0/device:GPU:0 with 15 "
       "MB memory:  -> device: 0"},
      {"torch-sees-gpu", "torch.cuda.is_available(): True"},
      {"tensor-on-gpu", "tensor([[0.1, -2.0e-03]], device='cuda:0')"},
      {"training-step", "{'loss': 2.31, 'grad_norm': 0.8, 'learning_rate': 5e-05, 'epoch': 0.1}"},
      {"training-step", "step 100/100 loss 2.1143 tok/s 18341"},
      {"training-step", "Epoch 3: train loss=0.31"},
      {"progress-bar", " 75%|#######   | 15/20 [00:10<00:03,  1.47it/s]"},
      {"llama-timings",
       "llama_print_timings:        eval time =  1000.00 ms /  99 runs   (   10.10 ms per token)"},
      {"request-served",
       "[GIN] 2025/02/05 - 19:13:05 | 200 |  3.1s |  127.0.0.1 | POST     "
       "\"/api/generate\""},
      {"vllm-throughput",
       "Engine 000: Avg prompt throughput: 3.1 tokens/s, Avg generation "
       "throughput: 41.2 tokens/s"},
      {"server-ready", "INFO:     Application startup complete."},
      {"prompt-executed", "Prompt executed in 31.20 seconds"},
      {"perplexity-measured", "Final estimate: PPL = 6.2041 +/- 0.03812"},
      {"model-loading", "Model loaded in 6.1s (load weights from disk: 1.2s)"},
  };
  return lines;
}

TEST(HarmlessLines, each_is_known_by_its_name) {
  for (const Lines* lines : {&noise(), &progress()}) {
    for (const auto& [id, line] : *lines) {
      EXPECT_THAT(ids_of(line), ::testing::Contains(id)) << line;
    }
  }
}

TEST(HarmlessLines, a_run_stays_healthy_beside_each) {
  for (const auto& [id, line] : noise()) {
    const LogDiagnosis got = testing::diagnose("training finished\n" + line + "\n");
    EXPECT_EQ(got.cause.id, "none") << id << ": " << line;
    EXPECT_FALSE(got.harmless.empty()) << id;
  }
}

TEST(HarmlessLines, progress_alone_is_health) {
  for (const auto& [id, line] : progress()) {
    EXPECT_EQ(testing::diagnose(line + "\n").cause.id, "none") << id << ": " << line;
  }
}

TEST(HarmlessLines, what_looks_alike_is_not_progress) {
  for (const std::string line :
       {"torch.cuda.is_available(): False", "x = torch.tensor([1.0, 2.0], device='cuda:0')",
        "Avg generation throughput: 0.0 tokens/s", "===== 3 failed, 812 passed in 61.2s =====",
        "exited with code 137", "[GIN] 2025/02/05 - 19:13:05 | 200 |  3.1s | HEAD     \"/\"",
        "{'loss': nan, 'epoch': 0.1}", "the training is not done"}) {
    EXPECT_NE(testing::diagnose(line + "\n").cause.id, "none") << line;
  }
}

}  // namespace
}  // namespace headroom::findings
