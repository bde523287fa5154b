// SPDX-License-Identifier: Apache-2.0
// What people tell of releases of ROCm, programs, kernels and firmware, a wording each.
#include "findings/causes/told_forms_testing.h"

namespace headroom::findings {
namespace {

using testing::amd, testing::died, testing::expect, testing::fault, testing::Form, testing::hang;

// No driver had a release 0: such numbers are the program's, whatever was named last.
TEST(ToldReleaseForms, releases_of_a_program_below_the_driver_s) {
  const Form forms[] = {
      {fault +
           "Starting with Ollama version 0.11.5 it crashes.\n- **Driver:** AMD Adrenalin 25.8.1\n"
           "| 0.11.4 | Works | stable |\n| 0.11.5 | Fails | crash |\n",
       "framework-bug"},
  };
  expect(forms);
}

TEST(ToldReleaseForms, releases_of_rocm) {
  const Form forms[] = {
      {fault + "This only started after I moved from ROCm 6.3 to 6.4.\n", "rocm-regression"},
      {fault + "ROCm 6.3.4 does not have this problem.\n", "rocm-regression"},
      {fault + "I do not see this on 6.2, only on 6.3 of ROCm.\n", "rocm-regression"},
      {fault + "Everything was OK before the ROCm 7.0 update.\n", "rocm-regression"},
      {fault + "Rolling back to rocm 6.2.4 made the crash disappear.\n", "rocm-regression"},
      {fault + "Since rocm 6.0, as soon as more than two cards are visible.\n", "rocm-regression"},
      {fault + "The same container with 6.3 as base image has been running for weeks without a "
               "single fault; it is only with the ROCm 6.4 base.\n",
       "rocm-regression"},
      {fault + "The error shows up when going from ROCm 3.1 to 3.3.\n", "rocm-regression"},
      {fault + "It broke with ROCm 7.1.\n", "rocm-regression"},
      {died + "Everything from ROCm 5.3 up segfaults.\n", "rocm-regression"},
      // A distribution's name says nothing of the kernel.
      {fault + "rocm 7.1.1 on arch linux. I did a system upgrade in between. The docker container "
               "with ROCm 7.0 on the same machine does not have it.\n",
       "rocm-regression"},
      {fault + "Broken in ROCm 6.4.2, OK in 6.4.1.\n", "rocm-regression"},
      {fault + "Regression between ROCm 6.4.1 and 6.4.2.\n", "rocm-regression"},
      {fault + "This is a regression: it used to work on ROCm 5.7.\n", "rocm-regression"},
      {fault + "I had to go back to ROCm 6.1 to get a working setup.\n", "rocm-regression"},
      {fault + "Staying on ROCm 6.2 for now, that one runs the model without trouble.\n",
       "rocm-regression"},
      {fault + "Confirmed fixed in ROCm 6.4.3.\n", "rocm-regression"},
      {fault + "Upgrading to ROCm 7.0.2 got rid of it.\n", "rocm-regression"},
      {fault + "After replacing rocm 6.4 by the 7.0 preview the job completes.\n",
       "rocm-regression"},
      {fault + "rocm 6.2.4: PASS\nrocm 6.3.0: FAIL\n", "rocm-regression"},
      {fault + "torch 2.6+rocm6.2.4 works, torch 2.7+rocm6.3 gives this fault, same script.\n",
       "rocm-regression"},
      {died + "The image of last week (a20260608) serves the model, 0609 and later all exit with "
              "139.\n",
       "rocm-regression"},
      {fault + "Works with the 20260608 nightly of TheRock, fails with 20260609.\n",
       "rocm-regression"},
      {fault + "With rocm/pytorch:rocm6.3_ubuntu22.04 I get correct output, with "
               "rocm/pytorch:rocm6.4_ubuntu22.04 it faults.\n",
       "rocm-regression"},
      {fault + "Last version that worked was 5.7.1.\nROCm 6.0 and up: always the same fault.\n",
       "rocm-regression"},
      {fault + "Hi all, I upgraded my box from Ubuntu 22.04 with ROCm 5.7 to 24.04 with ROCm 6.1 "
               "last weekend and since then every run ends like this.\n",
       "rocm-regression"},
      {fault + "Exactly the same venv worked on Monday; on Tuesday I let apt pull ROCm 6.4.1 and "
               "it has been crashing ever since.\n",
       "rocm-regression"},
      {fault +
           "For what it's worth, 6.3.2 was the last ROCm release where this model did not crash.\n",
       "rocm-regression"},
      {fault + "Pinning everything to ROCm 6.2.4 works around the crash for now.\n",
       "rocm-regression"},
      {fault + "Our CI passes with rocm 6.3 and fails with rocm 6.4 on the same node.\n",
       "rocm-regression"},
      {fault + "Could reproduce on 6.4.0, 6.4.1 and 6.4.2. Not reproducible on 6.3.3.\n",
       "rocm-regression"},
      {fault + "After a downgrade of rocm to 6.1.3 the training ran overnight without problems.\n",
       "rocm-regression"},
      {fault + "Update: problem solved by going to ROCm 7.0.1.\n", "rocm-regression"},
      {fault + "I tried ROCm 6.2 and 6.3, both work. 6.4 is the first one that faults.\n",
       "rocm-regression"},
      {fault + "Happens on 7.0 but not on 6.4 (ROCm).\n", "rocm-regression"},
      {fault + "It's a regression from ROCm 5.6.\n", "rocm-regression"},
      {fault + "Switched the base image back to rocm 6.0 and all tests are green again.\n",
       "rocm-regression"},
      {fault + "Seeing this since yesterday's update of rocm to 6.4.3, before that the box ran for "
               "months.\n",
       "rocm-regression"},
      {fault + "FWIW ROCm 6.2 from the Ubuntu 22.04 repo doesn't show this behaviour, only ROCm "
               "6.3 does.\n",
       "rocm-regression"},
      {fault + "We have two identical servers, one on ROCm 6.2.2 (fine) and one on ROCm 6.3.1 "
               "(this fault).\n",
       "rocm-regression"},
      {fault + "With the system ROCm 5.7 everything passes; the 6.0 wheels crash.\n",
       "rocm-regression"},
      {fault + "Verified: rocm 6.4.0 -> fault, rocm 6.3.4 -> no fault.\n", "rocm-regression"},
      {fault + "I can confirm that this is resolved with ROCm 6.4.2.\n", "rocm-regression"},
      {fault + "It stopped working when I moved to the TheRock 7.9 builds, 7.8 had been fine.\n",
       "rocm-regression"},
  };
  expect(forms);
}

TEST(ToldReleaseForms, releases_and_changes_of_programs) {
  const Form forms[] = {
      {fault + "Bisected to llama.cpp commit 1a2b3c4d.\n", "framework-bug"},
      {fault + "git bisect says the first bad commit is becade5de77674696539163dfbaf5c041a1a8e97 "
               "in llama.cpp.\n",
       "framework-bug"},
      {fault + "llama.cpp b4800 is fine, b4819 crashes.\n", "framework-bug"},
      {fault + "Reverting PR #12094 of llama.cpp fixes it.\n", "framework-bug"},
      {fault + "Fixed by updating vLLM to 0.9.2.\n", "framework-bug"},
      {fault + "It is a bug in the triton kernel; fixed upstream in "
               "https://github.com/ROCm/aiter/pull/512.\n",
       "framework-bug"},
      {fault + "Ollama 0.11.4 runs the same model, 0.12.0 does not.\n", "framework-bug"},
      {fault + "This was fixed in PyTorch 2.8 (pytorch/pytorch#155555).\n", "framework-bug"},
      {fault + "Yesterday's checkout of llama.cpp was fine.\n", "framework-bug"},
      {fault + "The newest ComfyUI commit breaks it; checking out v0.3.40 helps.\n",
       "framework-bug"},
      {died + "llama.cpp from two weeks ago works, current master segfaults.\n", "framework-bug"},
      {died + "The crash came with release 0.12.4 of ollama; 0.12.3 is not affected.\n",
       "framework-bug"},
      {died + "Downgrading ollama to 0.11.10 brought the GPU back.\n", "framework-bug"},
      {died + "I reverted to transformers 4.51 and the crash is gone.\n", "framework-bug"},
      {died + "This has been fixed in main by #12345.\n", "framework-bug"},
      {died + "Upstream says it is a known bug in vLLM 0.8.3.\n", "framework-bug"},
      {died + "Latest ComfyUI update broke it, v0.3.30 still works.\n", "framework-bug"},
      {died + "torch 2.5.1 runs it, torch 2.6.0 segfaults, everything else unchanged.\n",
       "framework-bug"},
      {died +
           "After git pull in ComfyUI it crashes; git checkout of last week's commit fixes it.\n",
       "framework-bug"},
      {died + "vllm 0.9.1 served this model without trouble. 0.10.0 does not come up.\n",
       "framework-bug"},
      {died + "The author of the library confirmed a bug and fixed it in the latest release of "
              "bitsandbytes.\n",
       "framework-bug"},
      {died + "Installing the nightly of PyTorch makes the error go away.\n", "framework-bug"},
      {died + "I bisected this down to PR 9921 in vllm.\n", "framework-bug"},
  };
  expect(forms);
}

TEST(ToldReleaseForms, kernels) {
  const Form forms[] = {
      {hang + "Linux 6.12 is stable, 6.13 hangs after a minute.\n", "kernel-too-old"},
      {hang + "Booting an older kernel (6.8) makes the hang disappear.\n", "kernel-too-old"},
      {hang + "git bisect of the kernel points at drm/amdgpu: enable gfxoff.\n", "kernel-too-old"},
      {hang + "Upgrading to kernel 6.15.4 solved it for me.\n", "kernel-too-old"},
      {hang + "With the HWE kernel 6.11 no more resets.\n", "kernel-too-old"},
      {hang + "Only on 6.17; 6.16.9 never did that.\n", "kernel-too-old"},
      {hang + "Installing linux-oem-24.04 took care of it.\n", "kernel-too-old"},
      {hang + "After moving from 6.8 to the mainline kernel the card is stable.\n",
       "kernel-too-old"},
      {hang + "kernel 6.8.0-45 good, kernel 6.8.0-47 bad\n", "kernel-too-old"},
      {hang + "I went back to 6.6 LTS kernel and have had no hang for three days.\n",
       "kernel-too-old"},
      {hang + "Fedora's 6.14.6 kernel introduced this, 6.14.5 was fine.\n", "kernel-too-old"},
      {hang + "The hang is gone with Linux 6.16-rc3.\n", "kernel-too-old"},
      {hang + "Compiled 6.15 myself, resets are history.\n", "kernel-too-old"},
      {hang + "It needs a newer kernel: with 5.15 it hangs, with 6.5 it does not.\n",
       "kernel-too-old"},
      {hang + "Had to go back to the 6.1 kernel from Debian stable, since 6.12 the GPU resets "
              "twice a day.\n",
       "kernel-too-old"},
      {hang + "Can't reproduce on 6.15.2, so the fix seems to be in there. My kernel is 6.13.\n",
       "kernel-too-old"},
      {hang + "On Ubuntu's 6.11 kernel: hang. On mainline 6.14: no hang.\n", "kernel-too-old"},
      {hang + "Kernel upgrade to 6.17 did the trick.\n", "kernel-too-old"},
  };
  expect(forms);
}

TEST(ToldReleaseForms, firmware) {
  const Form forms[] = {
      {hang + "Downgrading linux-firmware to 20250509 fixes this.\n", "firmware-bad"},
      {hang + "Replacing the MES firmware by the one from 20250917 cures the hang.\n",
       "firmware-bad"},
      {hang + "There is a regression in amdgpu's firmware.\n", "firmware-bad"},
      {hang + "Updating linux-firmware from git made the resets stop.\n", "firmware-bad"},
      {hang + "A newer linux-firmware package took care of the hangs.\n", "firmware-bad"},
      {hang + "pacman -Syu brought linux-firmware 20250808 and with it these resets; the version "
              "before did not have them.\n",
       "firmware-bad"},
      {hang + "I copied the gc_11_0_0_mes_2.bin from the previous firmware package and the hangs "
              "stopped.\n",
       "firmware-bad"},
      {hang + "New firmware blobs from the linux-firmware git tree solved this.\n", "firmware-bad"},
      {hang + "It's the firmware. I restored last month's files under /lib/firmware/amdgpu and the "
              "hang is gone.\n",
       "firmware-bad"},
  };
  expect(forms);
}

}  // namespace
}  // namespace headroom::findings
