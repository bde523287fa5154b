// SPDX-License-Identifier: Apache-2.0
// Jobs of several GPUs that stand still, and what other runs beside them show.
#include <gmock/gmock.h>

#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

using testing::diagnose;

constexpr std::string_view two_ranks =
    "box:41:41 [0] NCCL INFO RCCL version : 2.22.3\n"
    "box:41:90 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC comm 0x5a nRanks 02\n"
    "box:41:90 [0] NCCL INFO Connected all rings comm 0x5a nRanks 02\n"
    "^C   (an hour at full load)\n";

TEST(Collectives, a_later_run_without_peers_that_works_tells_what_stopped_the_first) {
  const auto found = diagnose(std::string(two_ranks) +
                              "$ NCCL_P2P_DISABLE=1 vllm serve m --tensor-parallel-size 2\n"
                              "INFO:     Application startup complete.\n");
  EXPECT_EQ(found.cause.id, "rccl-p2p");
  EXPECT_GE(found.cause.confidence, 0.8);
}

TEST(Collectives, a_run_that_did_its_work_before_it_was_stopped_does_not_hang) {
  const auto found = diagnose(
      "box:41:90 [0] NCCL INFO Connected all rings comm 0x5a nRanks 02\n"
      "step 100/1000 loss 2.11\n"
      "^C   (enough)\n");
  EXPECT_NE(found.cause.id, "rccl-p2p");
  EXPECT_NE(found.cause.id, "collective-hang");
}

TEST(Collectives, a_hang_on_cards_of_another_vendor_is_not_ours) {
  const auto found = diagnose(
      "Model name:  AMD EPYC 7402 24-Core Processor\n"
      "=> using nn.DataParallel on [0, 1]\n"
      "^CTraceback (most recent call last):\n"
      "  File \"/opt/conda/lib/python3.9/site-packages/torch/nn/parallel/data_parallel.py\", line "
      "167, in forward\nKeyboardInterrupt\n"
      "$ nvidia-smi --query-gpu=index,name --format=csv,noheader\n0, TITAN Xp\n1, TITAN Xp\n");
  EXPECT_EQ(found.cause.id, "not-amd-gpu");
}

TEST(Crashes, a_device_that_is_lost_to_the_program_hung) {
  for (const std::string line :
       {"vk::Queue::submit: ErrorDeviceLost\n", "hr=0x887A0006 DXGI_ERROR_DEVICE_HUNG\n"}) {
    EXPECT_EQ(diagnose(line, R"({"vendor":"AMD"})").cause.id, "gpu-hang") << line;
  }
}

TEST(Collectives, a_measurement_that_never_came_is_a_hang_whatever_a_later_one_says) {
  const std::string begun =
      "$ ./build/all_reduce_perf -b 8 -e 64M -f 2 -g 2\n"
      "# nThread 1 nGpus 2 minBytes 8 maxBytes 67108864 step: 2(factor) warmup iters: 5\n";
  const std::string done = "# Avg bus bandwidth    : 4.2\n";
  const auto hung = diagnose(begun + "^C\n" + begun + done, R"({"vendor": "AMD"})");
  EXPECT_EQ(hung.cause.id, "collective-hang");
  EXPECT_LE(hung.cause.confidence, 0.7);
  EXPECT_EQ(diagnose(begun + done + begun + done, R"({"vendor": "AMD"})").cause.id, "none");
}

constexpr std::string_view busy_cards =
    "GPU  Temp (DieEdge)  AvgPwr  SCLK     MCLK    Fan  Perf  PwrCap  VRAM%  GPU%\n"
    "0    45.0c           95.0W   2330Mhz  1249Mhz 0%   auto  327.0W   32%   100%\n"
    "1    44.0c           94.0W   2330Mhz  1249Mhz 0%   auto  327.0W   32%   100%\n";

TEST(Collectives, cards_at_full_load_without_a_step_wait_for_each_other) {
  const auto found =
      diagnose("NCCL INFO comm 0x55 rank 0 nranks 2 cudaDev 0 busId 3000 - Init COMPLETE\n" +
                   std::string(busy_cards),
               R"({"vendor": "AMD"})");
  EXPECT_EQ(found.cause.id, "collective-hang");
  EXPECT_GE(found.cause.confidence, 0.7);
}

TEST(Collectives, a_remark_that_both_cards_stay_at_full_load_is_the_same) {
  const auto found = diagnose(
      "$ torchrun --nproc_per_node=2 train.py\n"
      "[rank1]: using device 1\n"
      "# both GPUs at 100 %, no further output for 40 minutes\n",
      R"({"vendor": "AMD"})");
  EXPECT_EQ(found.cause.id, "collective-hang");
}

TEST(Collectives, cards_at_full_load_that_go_on_training_are_at_work) {
  const auto found =
      diagnose("NCCL INFO comm 0x55 rank 0 nranks 2 cudaDev 0 busId 3000 - Init COMPLETE\n" +
                   std::string(busy_cards) +
                   "{'loss': 1.8, 'epoch': 0.2}\n100%|##| 20/20 [00:12<00:00, "
                   "1.61it/s]\n",
               R"({"vendor": "AMD"})");
  EXPECT_EQ(found.cause.id, "none");
}

constexpr std::string_view timed_out =
    "[rank0]:[E910 08:31:44.121 ProcessGroupNCCL.cpp:688] [Rank 0] Watchdog caught collective "
    "operation timeout: WorkNCCL(SeqNum=9, OpType=ALLREDUCE, NumelIn=524288, NumelOut=1048576, "
    "Timeout(ms)=300000) ran for 300043 milliseconds before timing out.\n";
constexpr std::string_view loop =
    "$ for e in NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1; do echo -n \"$e: \"; env $e timeout 400 "
    "torchrun t.py && echo pass || echo fail; done\n";

TEST(Collectives, a_trial_without_peers_that_fails_too_clears_them_whatever_another_tool_does) {
  const auto found = diagnose(std::string(timed_out) + std::string(loop) +
                                  "NCCL_P2P_DISABLE=1: fail 124\nNCCL_SHM_DISABLE=1: fail 124\n"
                                  "$ ./build/all_reduce_perf -b 8M -e 512M -g 4 | tail -1\n"
                                  "# Avg bus bandwidth    : 98.117\n",
                              R"({"vendor": "AMD"})");
  EXPECT_EQ(found.cause.id, "collective-hang");
  EXPECT_LT(testing::confidence_of(found, "rccl-p2p"), 0.3);
}

TEST(Collectives, a_trial_without_peers_that_passes_blames_them) {
  for (const std::string came : {"NCCL_P2P_DISABLE=1: pass\n", "NCCL_P2P_DISABLE=1 -> works\n"}) {
    const auto found = diagnose(
        std::string(timed_out) + std::string(loop) + came + "NCCL_SHM_DISABLE=1: fail 124\n",
        R"({"vendor": "AMD"})");
    EXPECT_EQ(found.cause.id, "rccl-p2p") << came;
  }
}

}  // namespace
}  // namespace headroom::findings
