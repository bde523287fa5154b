// SPDX-License-Identifier: Apache-2.0
// The causes about GPU memory: what the figures of a failure add up to, and who has the rest.
#include <gmock/gmock.h>

#include "findings/causes/causes.h"
#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

using testing::confidence_of;
using testing::diagnose;

// ------------------------------------------------------------------ PyTorch's figures

TEST(JobTooBig, live_tensors_that_fill_the_card_are_the_jobs_own_need) {
  const auto diagnosis = diagnose(
      "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total "
      "capacity of 15.98 GiB of which 420.00 MiB is free. Of the allocated memory 14.60 GiB is "
      "allocated by PyTorch, and 190.10 MiB is reserved by PyTorch but unallocated.\n");
  EXPECT_EQ(diagnosis.cause.id, "job-too-big");
  EXPECT_GE(diagnosis.cause.confidence, 0.8);
  EXPECT_THAT(diagnosis.cause.title, ::testing::HasSubstr("14.60 GiB of 15.98 GiB"));
}

TEST(JobTooBig, the_old_wording_tells_the_same) {
  const auto diagnosis = diagnose(
      "RuntimeError: HIP out of memory. Tried to allocate 512.00 MiB (GPU 0; 7.98 GiB total "
      "capacity; 7.21 GiB already allocated; 96.00 MiB free; 7.40 GiB reserved in total by "
      "PyTorch)\n");
  EXPECT_EQ(diagnosis.cause.id, "job-too-big");
  EXPECT_GE(diagnosis.cause.confidence, 0.8);
}

TEST(JobTooBig, a_bare_message_is_no_more_than_possible) {
  const auto diagnosis =
      diagnose("RuntimeError: HIP error: out of memory\n", R"({"gfx":"gfx1100"})");
  EXPECT_EQ(diagnosis.cause.id, "job-too-big");
  EXPECT_LE(diagnosis.cause.confidence, 0.5);
}

TEST(JobTooBig, a_request_larger_than_the_card_is_too_big_whoever_else_is_there) {
  const auto diagnosis = diagnose(
      "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 40.00 GiB. GPU 0 has a total "
      "capacity of 23.98 GiB of which 11.00 GiB is free. Of the allocated memory 2.00 GiB is "
      "allocated by PyTorch, and 100.00 MiB is reserved by PyTorch but unallocated.\n");
  EXPECT_EQ(diagnosis.cause.id, "job-too-big");
  EXPECT_GE(diagnosis.cause.confidence, 0.85);
}

TEST(JobTooBig, buffers_of_llama_cpp_are_added_up) {
  const auto diagnosis = diagnose(
      "llama_model_load_from_file_impl: using device ROCm0 (AMD Radeon RX 6800) - 16338 MiB free\n"
      "load_tensors:        ROCm0 model buffer size = 13200.00 MiB\n"
      "llama_kv_cache:      ROCm0 KV buffer size =  2560.00 MiB\n"
      "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 1024.00 MiB on device 0: cudaMalloc "
      "failed: out of memory\n",
      R"({"vram":"16 GB","gfx":"gfx1030"})");
  EXPECT_EQ(diagnosis.cause.id, "job-too-big");
  EXPECT_GE(diagnosis.cause.confidence, 0.8);
}

TEST(JobTooBig, buffers_on_another_card_do_not_count) {
  const auto diagnosis = diagnose(
      "load_tensors:        ROCm0 model buffer size = 13200.00 MiB\n"
      "load_tensors:        ROCm1 model buffer size =  1200.00 MiB\n"
      "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 2800.00 MiB on device 1: cudaMalloc "
      "failed: out of memory\n",
      R"({"vram":"16 GB","gfx":"gfx1030"})");
  EXPECT_EQ(diagnosis.cause.id, "vram-held-by-other");
  EXPECT_LE(diagnosis.cause.confidence, 0.6);
}

TEST(JobTooBig, tensorflow_tells_what_its_arena_holds) {
  const std::string log =
      "W bfc_allocator.cc:497] Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.00GiB "
      "(rounded to 2147483648)requested by op conv\n"
      "I bfc_allocator.cc:1101] Stats: \n"
      "Limit:                     15837691904\n"
      "InUse:                     {}\n";
  const std::string words = "Hostname of the MIOpen job\n";
  EXPECT_EQ(diagnose(words + log.substr(0, log.find("{}")) + "15037691904\n").cause.id,
            "job-too-big");
  EXPECT_EQ(diagnose(words + log.substr(0, log.find("{}")) + "7037691904\n").cause.id,
            "fragmentation");
}

TEST(JobTooBig, a_kv_cache_that_does_not_fit_is_the_jobs_size) {
  const auto diagnosis = diagnose(
      "ValueError: To serve at least one request with the models's max seq len (131072), (16.00 "
      "GiB KV cache is needed, which is larger than the available KV cache memory (9.10 GiB).\n",
      R"({"gfx":"gfx1100"})");
  EXPECT_EQ(diagnosis.cause.id, "job-too-big");
}

TEST(Fragmentation, idle_memory_that_would_have_served_is_in_pieces) {
  const auto diagnosis = diagnose(
      "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 3.00 GiB. GPU 0 has a total "
      "capacity of 15.98 GiB of which 1.10 GiB is free. Of the allocated memory 8.00 GiB is "
      "allocated by PyTorch, and 6.20 GiB is reserved by PyTorch but unallocated.\n");
  EXPECT_EQ(diagnosis.cause.id, "fragmentation");
  EXPECT_GE(diagnosis.cause.confidence, 0.8);
}

TEST(Fragmentation, the_old_wording_gives_the_idle_part_by_subtraction) {
  const auto diagnosis = diagnose(
      "OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB (GPU 0; 15.98 GiB total "
      "capacity; 9.00 GiB already allocated; 1.00 GiB free; 14.50 GiB reserved in total by "
      "PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb\n");
  EXPECT_EQ(diagnosis.cause.id, "fragmentation");
}

TEST(Fragmentation, a_request_that_would_fit_packed_is_no_proof_of_a_job_too_big) {
  const auto fails = [](std::string_view asked, std::string_view free, std::string_view allocated,
                        std::string_view idle) {
    return diagnose("torch.OutOfMemoryError: HIP out of memory. Tried to allocate " +
                    std::string(asked) + " GiB. GPU 0 has a total capacity of 23.98 GiB of which " +
                    std::string(free) + " GiB is free. Of the allocated memory " +
                    std::string(allocated) + " GiB is allocated by PyTorch, and " +
                    std::string(idle) + " GiB is reserved by PyTorch but unallocated.\n");
  };
  const auto room = fails("2.00", "1.00", "20.00", "2.50");
  EXPECT_EQ(room.cause.id, "fragmentation");
  EXPECT_LE(room.cause.confidence, 0.8);
  // Nearly full: the next request would have failed.
  const auto nearly = fails("1.00", "0.50", "21.50", "1.60");
  EXPECT_EQ(nearly.cause.id, "job-too-big");
  EXPECT_LE(nearly.cause.confidence, 0.8);
  EXPECT_GE(confidence_of(nearly, "fragmentation"), 0.1);
}

TEST(Fragmentation, a_little_idle_memory_is_none) {
  const auto diagnosis = diagnose(
      "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 200.00 MiB. GPU 0 has a total "
      "capacity of 15.98 GiB of which 50.00 MiB is free. Of the allocated memory 14.90 GiB is "
      "allocated by PyTorch, and 300.00 MiB is reserved by PyTorch but unallocated.\n");
  EXPECT_EQ(diagnosis.cause.id, "job-too-big");
  EXPECT_LE(confidence_of(diagnosis, "fragmentation"), 0.3);
}

TEST(MemoryFractionCap, an_allowance_below_the_card_is_the_limit) {
  const auto diagnosis = diagnose(
      "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 256.00 MiB. GPU 0 has a total "
      "capacity of 63.98 GiB of which 55.00 GiB is free. 6.40 GiB allowed; Of the allocated memory "
      "6.10 GiB is allocated by PyTorch, and 120.00 MiB is reserved by PyTorch but unallocated.\n");
  EXPECT_EQ(diagnosis.cause.id, "memory-fraction-cap");
  EXPECT_GE(diagnosis.cause.confidence, 0.9);
  const auto old = diagnose(
      "RuntimeError: HIP out of memory. Tried to allocate 256.00 MiB (GPU 0; 23.98 GiB total "
      "capacity; 4.60 GiB already allocated; 18.00 GiB free; 4.80 GiB allowed; 4.70 GiB reserved "
      "in total by PyTorch)\n");
  EXPECT_EQ(old.cause.id, "memory-fraction-cap");
}

TEST(MemoryFractionCap, an_allowance_of_the_whole_card_is_no_limit) {
  const auto diagnosis = diagnose(
      "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total "
      "capacity of 15.98 GiB of which 100.00 MiB is free. 15.98 GiB allowed; Of the allocated "
      "memory 14.90 GiB is allocated by PyTorch, and 90.00 MiB is reserved by PyTorch but "
      "unallocated.\n");
  EXPECT_EQ(diagnosis.cause.id, "job-too-big");
}

TEST(MemoryFractionCap, a_small_share_for_a_server_is_its_limit_and_a_usual_one_is_not) {
  const std::string blocks =
      "ValueError: No available memory for the cache blocks. Try increasing "
      "`gpu_memory_utilization` when initializing the engine.\n";
  const char* amd = R"({"gfx":"gfx942"})";
  EXPECT_EQ(diagnose("args: gpu_memory_utilization=0.3\n" + blocks, amd).cause.id,
            "memory-fraction-cap");
  EXPECT_EQ(diagnose("args: gpu_memory_utilization=0.92\n" + blocks, amd).cause.id, "job-too-big");
}

// ------------------------------------------------------------------ who has the rest

TEST(VramHeldByOther, what_the_job_cannot_account_for_is_held_by_others) {
  const auto diagnosis = diagnose(
      "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total "
      "capacity of 23.98 GiB of which 900.00 MiB is free. Of the allocated memory 5.00 GiB is "
      "allocated by PyTorch, and 200.00 MiB is reserved by PyTorch but unallocated.\n");
  EXPECT_EQ(diagnosis.cause.id, "vram-held-by-other");
  EXPECT_GE(diagnosis.cause.confidence, 0.7);
  EXPECT_GT(confidence_of(diagnosis, "vram-orphaned"), 0);
}

TEST(VramHeldByOther, the_driver_counts_what_the_job_believes_free) {
  const auto diagnosis = diagnose(
      "GPU[0]\t\t: VRAM Total Memory (B): 17163091968\n"
      "GPU[0]\t\t: VRAM Total Used Memory (B): 8800000000\n"
      "llama_model_load_from_file_impl: using device ROCm0 (AMD Radeon RX 7800 XT) - 16200 MiB "
      "free\n"
      "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 10200.00 MiB on device 0: cudaMalloc "
      "failed: out of memory\n");
  EXPECT_EQ(diagnosis.cause.id, "vram-held-by-other");
  EXPECT_GE(diagnosis.cause.confidence, 0.8);
}

TEST(VramHeldByOther, a_server_that_finds_the_card_taken_at_its_start) {
  const auto diagnosis = diagnose(
      "ValueError: Free memory on device cuda:0 (13.50/191.69 GiB) on startup is less than desired "
      "GPU memory utilization (0.6, 115.01 GiB). Decrease GPU memory utilization or reduce GPU "
      "memory used by other processes.\n",
      R"({"gfx":"gfx942"})");
  EXPECT_EQ(diagnosis.cause.id, "vram-held-by-other");
}

TEST(VramHeldByOther, a_process_list_names_the_holder) {
  const auto diagnosis = diagnose(
      "RuntimeError: HIP out of memory. Tried to allocate 2.00 GiB\n"
      "PID     PROCESS NAME    GPU(s)  VRAM USED       SDMA USED       CU OCCUPANCY\n"
      "8812    ollama  1       14500000000     0       0\n");
  EXPECT_EQ(diagnosis.cause.id, "vram-held-by-other");
  EXPECT_THAT(diagnosis.cause.title, ::testing::HasSubstr("ollama (PID 8812)"));
}

TEST(VramOrphaned, memory_without_a_process_after_a_kill_has_no_owner) {
  const auto diagnosis = diagnose(
      "$ kill -9 4711\n"
      "$ rocm-smi --showmeminfo vram --showpids\n"
      "GPU[0]\t\t: VRAM Total Memory (B): 25753026560\n"
      "GPU[0]\t\t: VRAM Total Used Memory (B): 19000000000\n"
      "No KFD PIDs currently running\n");
  EXPECT_EQ(diagnosis.cause.id, "vram-orphaned");
  EXPECT_GE(diagnosis.cause.confidence, 0.8);
}

TEST(VramHeldByOther, an_empty_list_in_a_container_leaves_the_host) {
  const std::string log =
      "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 64.00 MiB. GPU 0 has a total "
      "capacity of 15.98 GiB of which 0 bytes is free. Of the allocated memory 20.00 MiB is "
      "allocated by PyTorch, and 4.00 MiB is reserved by PyTorch but unallocated.\n"
      "GPU[0]\t\t: VRAM Total Memory (B): 17163091968\n"
      "GPU[0]\t\t: VRAM Total Used Memory (B): 17000000000\n"
      "No KFD PIDs currently running\n";
  const auto inside = diagnose(log, R"({"gfx":"gfx1030","container":"docker"})");
  EXPECT_EQ(inside.cause.id, "vram-held-by-other");
  EXPECT_LT(inside.cause.confidence, 0.8);
  const auto outside = diagnose(log, R"({"gfx":"gfx1030"})");
  EXPECT_EQ(outside.cause.id, "vram-orphaned");
  EXPECT_LT(outside.cause.confidence, 0.8);
}

TEST(VramOrphaned, a_worker_that_outlives_its_killed_job_is_left_over) {
  const auto diagnosis = diagnose(
      "timeout: sent SIGKILL to vllm bench\n"
      "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB\n"
      "/dev/kfd:            root     396079 F...m VLLM::EngineCor\n");
  EXPECT_EQ(diagnosis.cause.id, "vram-orphaned");
}

TEST(VramOrphaned, an_idle_card_with_a_little_in_use_is_none) {
  const auto diagnosis = diagnose(
      "$ kill -9 4711\n"
      "GPU[0]\t\t: VRAM Total Memory (B): 25753026560\n"
      "GPU[0]\t\t: VRAM Total Used Memory (B): 310000000\n"
      "No KFD PIDs currently running\n");
  EXPECT_NE(diagnosis.cause.id, "vram-orphaned");
}

TEST(VramOrphaned, nobody_was_killed_so_a_graphics_program_may_hold_it) {
  const auto diagnosis = diagnose(
      "GPU[0]\t\t: VRAM Total Memory (B): 25753026560\n"
      "GPU[0]\t\t: VRAM Total Used Memory (B): 19000000000\n"
      "No KFD PIDs currently running\n");
  EXPECT_LE(diagnosis.cause.confidence, 0.65);
  EXPECT_GT(confidence_of(diagnosis, "vram-held-by-other"), 0.2);
}

TEST(FreeMemoryMisreported, the_driver_has_more_left_than_the_program_sees) {
  const auto diagnosis = diagnose(
      "level=INFO msg=\"inference compute\" library=ROCm compute=gfx1151 type=iGPU total=\"64.0 "
      "GiB\" available=\"9.5 GiB\"\n"
      "GPU[0]\t\t: VRAM Total Memory (B): 68719476736\n"
      "GPU[0]\t\t: VRAM Total Used Memory (B): 6000000000\n");
  EXPECT_EQ(diagnosis.cause.id, "free-memory-misreported");
  EXPECT_GE(diagnosis.cause.confidence, 0.7);
}

TEST(FreeMemoryMisreported, a_refusal_with_room_is_possible_and_not_sure) {
  const auto diagnosis = diagnose(
      "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 64.00 MiB. GPU 3 has a total "
      "capacity of 191.98 GiB of which 120.00 GiB is free. Of the allocated memory 60.00 GiB is "
      "allocated by PyTorch, and 9.00 GiB is reserved by PyTorch but unallocated.\n");
  EXPECT_LE(diagnosis.cause.confidence, 0.6);
  EXPECT_GE(confidence_of(diagnosis, "free-memory-misreported"), 0.3);
}

TEST(FreeMemoryMisreported, the_rams_own_figure_taken_for_an_apus) {
  const std::string log =
      "llama_params_fit_impl: projected to use 81000 MiB of device memory vs. 62500 MiB of free "
      "device memory\n"
      "$ grep MemAvailable /proc/meminfo\nMemAvailable:   64000000 kB\n"
      "$ cat /sys/class/drm/card0/device/mem_info_gtt_total "
      "/sys/class/drm/card0/device/mem_info_gtt_used\n";
  const auto found = diagnose(log + "103079215104\n1073741824\n", R"({"gfx":"gfx1151"})");
  EXPECT_EQ(found.cause.id, "free-memory-misreported");
  EXPECT_GE(found.cause.confidence, 0.8);
  // Where the driver has no more than that, the figure is right.
  const auto full = diagnose(log + "103079215104\n38000000000\n", R"({"gfx":"gfx1151"})");
  EXPECT_NE(full.cause.id, "free-memory-misreported");
}

TEST(FreeMemoryMisreported, a_server_that_counts_a_model_it_has_unloaded) {
  const std::string log =
      "time=2026-02-01T10:00:00Z level=INFO msg=\"inference compute\" id=0 library=ROCm "
      "compute=gfx1101 type=discrete total=\"15.9 GiB\" available=\"15.2 GiB\"\n"
      "time=2026-02-01T11:00:00Z level=INFO msg=offload library=ROCm layers.requested=-1 "
      "layers.model=41 layers.offload=5 memory.available=\"[3.1 GiB]\"\n";
  const auto found = diagnose(log + "20260201 gpu 2.50%, vram 8.00% 1303.00mb\n");
  EXPECT_EQ(found.cause.id, "free-memory-misreported");
  EXPECT_GE(found.cause.confidence, 0.8);
  const auto really = diagnose(log + "20260201 gpu 2.50%, vram 80.00% 13030.00mb\n");
  EXPECT_NE(really.cause.id, "free-memory-misreported");
}

TEST(FreeMemoryMisreported, a_crumb_refused_beside_a_hundred_gib_is_not_explained_by_counting) {
  const auto found = diagnose(
      "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 MiB. GPU 1 has a total "
      "capacity of 191.98 GiB of which 140.00 GiB is free. Of the allocated memory 40.00 GiB is "
      "allocated by PyTorch, and 9.00 GiB is reserved by PyTorch but unallocated.\n");
  EXPECT_EQ(found.cause.id, "insufficient-evidence");
  EXPECT_GE(confidence_of(found, "free-memory-misreported"), 0.3);
}

TEST(VramOrphaned, agents_that_hold_nothing_do_not_own_what_is_taken) {
  const std::string log =
      "ValueError: Free memory on device (150.00/191.98 GiB) on startup is less than desired GPU "
      "memory utilization (0.9, 172.79 GiB). Decrease GPU memory utilization.\n"
      "|   0       1       6        SPX/NPS1 | 0 %        N/A         43008/196608 MB |\n"
      "node:~$ rocm-smi --showpids | tail -3\n";
  const auto leaked = diagnose(log + "2210\tdcgm-like\t0\t0\t0\t0\n2301\trdcd\t0\t0\t0\t0\n");
  EXPECT_EQ(leaked.cause.id, "vram-orphaned");
  const auto held = diagnose(log + "2210\tpython3\t1\t44000000000\t0\t0\n2301\trdcd\t0\t0\t0\t0\n");
  EXPECT_EQ(held.cause.id, "vram-held-by-other");
}

TEST(VramOrphaned, a_worker_whose_parent_is_gone) {
  const std::string log =
      "Terminated\n"
      "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total "
      "capacity of 191.98 GiB of which 1.00 GiB is free. Of the allocated memory 2.00 GiB is "
      "allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated.\n"
      "root@h:~# fuser -v /dev/kfd\n"
      "                     USER        PID ACCESS COMMAND\n"
      "/dev/kfd:            root     70123 F...m VLLM::Worker\n";
  for (const std::string ps :
       {"root@h:~# ps -o pid,ppid,stat -p 70123\n    PID    PPID STAT\n  70123       1 Sl\n",
        "root@h:~# ps -eo ppid,pid,args | grep VLLM\n      1   70123 VLLM::Worker\n",
        "root@h:~# ps -ef | grep 70123\nroot  70123  1  9 10:00 ?  00:10:00 VLLM::Worker\n"}) {
    const auto found = diagnose(log + ps);
    EXPECT_EQ(found.cause.id, "vram-orphaned") << ps;
    EXPECT_GE(found.cause.confidence, 0.8) << ps;
  }
  const auto child =
      diagnose(log + "root@h:~# ps -ef | grep 70123\nroot  70123  812  9 10:00 ?  00:10:00 W\n");
  EXPECT_LT(child.cause.confidence, 0.8);
}

TEST(MemoryFractionCap, tensorflow_was_given_a_share_of_what_is_free) {
  const auto log = [](const std::string& limit, const std::string& used) {
    return "Total memory: 8.00GiB\nFree memory: 7.70GiB\n"
           "2020-01-01 10:00:00.1: W tensorflow/core/common_runtime/bfc_allocator.cc:267] "
           "Allocator (GPU_0_bfc) ran out of memory trying to allocate 512.00MiB.  Current "
           "allocation summary follows.\n"
           "2020-01-01 10:00:00.2: I tensorflow/core/common_runtime/bfc_allocator.cc:647] Stats: "
           "\nLimit:   " +
           limit + "\nInUse:   " + used +
           "\n"
           "2020-01-01 10:00:00.3: W op_kernel.cc:1273] OP_REQUIRES failed: Resource exhausted: "
           "OOM when allocating tensor with shape[64,64,224,224]\n";
  };
  EXPECT_EQ(diagnose(log("3435973836", "3221225472")).cause.id, "memory-fraction-cap");
  EXPECT_EQ(diagnose(log("7730941132", "7516192768")).cause.id, "job-too-big");
}

TEST(VramOrphaned, figures_without_names_tell_that_nobody_holds_it) {
  const std::string log =
      "|   0       1       6        SPX/NPS1 | 0 %        N/A         46111/262128 MB |\n"
      "$ amd-smi process -G | grep -E 'NAME|VRAM' | sort | uniq -c\n      8     NAME: rdcd\n";
  const std::string end =
      "$ sacct -X\n240117       CANCELLED+      0:9 2026-07-07T02:44:58\n"
      "ValueError: Free memory on device (210.95/255.98 GiB) on startup is less than desired GPU "
      "memory utilization (0.9, 230.38 GiB). Decrease GPU memory utilization.\n";
  EXPECT_EQ(diagnose(log + "     16     VRAM_MEM: 0.0 B\n" + end).cause.id, "vram-orphaned");
  EXPECT_NE(
      diagnose(log + "     15     VRAM_MEM: 0.0 B\n      1     VRAM_MEM: 45.1 GB\n" + end).cause.id,
      "vram-orphaned");
}

}  // namespace
}  // namespace headroom::findings
