// SPDX-License-Identifier: Apache-2.0
// What people tell of steps, settings, users and hardware, a wording each, and what tells nothing.
#include "findings/causes/told_forms_testing.h"

namespace headroom::findings {
namespace {

using testing::amd, testing::died, testing::expect, testing::fault, testing::Form, testing::hang;

TEST(ToldStepForms, peer_to_peer) {
  const Form forms[] = {
      {"Output with two cards is garbage, with one it is right. iommu=pt on the kernel command "
       "line gives right output.\n",
       "rccl-p2p"},
      {"vLLM with -tp 2 hangs. It runs with --disable-custom-all-reduce.\n", "rccl-p2p"},
      {"torchrun with 2 GPUs hangs in init. export NCCL_P2P_DISABLE=1 makes it run.\n", "rccl-p2p"},
      {"Training on both cards freezes at the first backward. Disabling ACS in the BIOS solved the "
       "freeze.\n",
       "rccl-p2p"},
      {"Both cards work alone, together the training hangs in the first all_reduce. Setting "
       "NCCL_P2P_DISABLE=1 was the solution.\n",
       "rccl-p2p"},
      {"Inference over two GPUs returns nonsense until I disable IOMMU in the BIOS.\n", "rccl-p2p"},
  };
  expect(forms);
}

TEST(ToldStepForms, devices_and_their_code) {
  const Form forms[] = {
      {died + "Switching off the integrated graphics in the BIOS fixed the crash.\n",
       "igpu-selected"},
      {died + "Disabling the iGPU was the solution.\n", "igpu-selected"},
      {fault + "Without HSA_OVERRIDE_GFX_VERSION everything is fine.\n", "gfx-override-wrong"},
      {fault + "Removing HSA_OVERRIDE_GFX_VERSION from the unit made the fault go away.\n",
       "gfx-override-wrong"},
      {fault + "Turned out I had HSA_OVERRIDE_GFX_VERSION=10.3.0 left in my .bashrc from the old "
               "card.\n",
       "gfx-override-wrong"},
      {fault + "-fa 1 crashes, -fa 0 is fine.\n", "unsupported-option"},
      {fault + "VLLM_ROCM_USE_AITER=0 avoids the fault.\n", "unsupported-option"},
      {fault + "Setting AITER_ENABLE_VSKIP=0 helps.\n", "unsupported-option"},
      {fault + "env -u HSA_ENABLE_IPC_MODE_LEGACY makes it work.\n", "unsupported-option"},
      {died +
           "My Ryzen 7950X has an iGPU. Once I turned it off in the BIOS the segfault went away.\n",
       "igpu-selected"},
      {died + "The problem was the iGPU. HIP_VISIBLE_DEVICES=1 and now it runs.\n",
       "igpu-selected"},
      {fault +
           "The variable HSA_OVERRIDE_GFX_VERSION was the culprit, I had set it for my old card.\n",
       "gfx-override-wrong"},
      {fault + "unset HSA_OVERRIDE_GFX_VERSION fixed it for me\n", "gfx-override-wrong"},
      {died + "If I remove PYTORCH_HIP_ALLOC_CONF from the environment the crash disappears.\n",
       "unsupported-option"},
      {died + "Turning flash attention off makes the crash disappear.\n", "unsupported-option"},
      {fault + "The fault happens only with HSA_OVERRIDE_GFX_VERSION set.\n", "gfx-override-wrong"},
  };
  expect(forms);
}

TEST(ToldStepForms, access) {
  const Form forms[] = {
      {"rocminfo: Unable to open /dev/kfd\nuser A can run it, user B can not.\n",
       "device-permission"},
      {"torch.cuda.is_available() is False\nAs root it works, as my user it does not.\n",
       "device-permission"},
      {"torch.cuda.is_available() is False\nWith sudo it returns True.\n", "device-permission"},
      {"torch.cuda.is_available() is False\nAdding myself to the render group and logging in again "
       "fixed it.\n",
       "device-permission"},
      {"No GPU inside the container.\n--device /dev/kfd was missing; with it rocminfo lists the "
       "card.\n",
       "kfd-not-passed"},
      {"No GPU inside the container. Had forgotten to pass /dev/kfd.\n", "kfd-not-passed"},
      {"torch.cuda.is_available() is False\nTurns out pip had pulled the CPU build; reinstalled "
       "from the rocm index and it is fine.\n",
       "wrong-wheel"},
      {"torch.cuda.is_available() is False\nxformers had replaced my torch with a CUDA one.\n",
       "wrong-wheel"},
      {"amdgpu: probe failed, no /dev/dri\nSecure Boot was on; after disabling it the module "
       "loads.\n",
       "driver-not-loaded"},
      {"python 3.13 finds no wheel. With 3.11 pip installs it.\nERROR: No matching distribution "
       "found for torch\n",
       "python-version-unsupported"},
      {"torch sees no GPU\nI was not in the render group. After usermod -aG render and a reboot it "
       "works.\n",
       "device-permission"},
      {"torch sees no GPU\nOnly root can use it.\n", "device-permission"},
      {"The container sees no GPU\nMy compose file was missing the /dev/kfd device.\n",
       "kfd-not-passed"},
      {"The container sees no GPU\nPassing --device=/dev/kfd as well solved it.\n",
       "kfd-not-passed"},
      {"torch.cuda.is_available() prints False\nIt was the CUDA wheel. Reinstalling from the "
       "rocm6.3 index fixed that.\n",
       "wrong-wheel"},
      {"torch.cuda.is_available() prints False\nI had the CPU-only torch installed instead of the "
       "ROCm one.\n",
       "wrong-wheel"},
      {"No GPU after boot\namdgpu was blacklisted in /etc/modprobe.d, removing the line fixed "
       "it.\n",
       "driver-not-loaded"},
      {"pip finds no torch\nPython 3.14 is too new, used 3.12 and it installed.\n",
       "python-version-unsupported"},
      {"Permission denied on /dev/kfd as a normal user, no problem as root.\n",
       "device-permission"},
      {"In the container rocminfo says no GPU; on the host it lists it. I had only passed "
       "/dev/dri, adding /dev/kfd solved it.\n",
       "kfd-not-passed"},
      {"torch.cuda.is_available() is False. Turned out that requirements.txt of the project "
       "installs plain torch from PyPI.\n",
       "wrong-wheel"},
  };
  expect(forms);
}

TEST(ToldStepForms, memory) {
  const Form forms[] = {
      {"hip out of memory although the card is empty.\nRaising the UMA frame buffer in the BIOS to "
       "8 GB helped.\n",
       "uma-carveout-small"},
      {"hip out of memory. Another process (a zombie python) was still holding the memory; killing "
       "it helped.\n",
       "vram-held-by-other"},
      {"hip out of memory. I had ollama still running in the background, after stopping it "
       "everything fits.\n",
       "vram-held-by-other"},
      {"The container is killed with exit code 137. Giving docker 32g instead of 8g solved it.\n",
       "cgroup-memory-limit"},
      {"Out of memory on an APU\nThe BIOS gave only 512 MB to the iGPU; setting the UMA size to 16 "
       "GB fixed it.\n",
       "uma-carveout-small"},
      {"HIP out of memory although nothing runs\nA crashed python process still held the VRAM; "
       "after kill -9 it was free.\n",
       "vram-held-by-other"},
      {"HIP out of memory\nFirefox and a game were eating 6 GB of VRAM. Closing them helped.\n",
       "vram-held-by-other"},
      {"exit code 137\nThe pod had a memory limit of 8Gi, with 32Gi it runs through.\n",
       "cgroup-memory-limit"},
  };
  expect(forms);
}

TEST(ToldStepForms, hardware) {
  const Form forms[] = {
      {hang + "Reseating the card / another riser cable fixed it.\n", "hw-error"},
      {hang + "The card was replaced under warranty and the new one works.\n", "hw-error"},
      {hang + "The PSU was too weak; with a new 1000 W one there is no reset any more.\n",
       "hw-error"},
      {hang + "Another RX 7900 XTX in the same slot works fine, so the card is faulty.\n",
       "hw-error"},
      {"Card does not show up in rocminfo on the x4 slot behind the chipset; in the CPU slot it "
       "does.\n",
       "pcie-atomics"},
      {"amdgpu fails with -12. Enabling Above 4G Decoding fixed it.\n", "bar-too-small"},
      {hang + "Swapped the riser cable, no problem since.\n", "hw-error"},
      {hang + "Turned out to be a broken power cable.\n", "hw-error"},
      {hang + "Sent the card back, the replacement runs fine.\n", "hw-error"},
      {"rocminfo does not list the card\nPCIe atomics are not supported by this slot; in another "
       "slot it works.\n",
       "pcie-atomics"},
      {"amdgpu: probe failed with error -12\nResizable BAR was off in the BIOS, switching it on "
       "fixed it.\n",
       "bar-too-small"},
      {hang + "New PSU, no reset for two weeks now.\n", "hw-error"},
  };
  expect(forms);
}

TEST(ToldStepForms, files_and_packages) {
  const Form forms[] = {
      {"MIOpen(HIP): Error [FlushUnsafe] \nDeleting ~/.cache/miopen helped.\n", "miopen-db"},
      {"OSError: libroctx64.so: cannot open shared object file\nInstalling roctracer fixed it.\n",
       "missing-library"},
      {"ImportError: cannot import name 'int4' from torchao. Uninstalling torchao solved it.\n",
       "torchao-incompatible"},
      {"MIOpen error: cannot open database file\nThe home directory is on NFS; with "
       "MIOPEN_USER_DB_PATH on a local disk it works.\n",
       "miopen-db"},
      {"ImportError: libroctracer64.so.4: cannot open shared object file\nsudo apt install "
       "roctracer was all it needed.\n",
       "missing-library"},
  };
  expect(forms);
}

TEST(ToldStepForms, what_changed_nothing_accuses_nothing) {
  const Form forms[] = {
      {fault + "I have ROCm 6.4 and torch 2.7 installed. Any idea why it crashes?\n", "gpu-hang"},
      {fault + "Running kernel 6.14 on Ubuntu 24.04, linux-firmware 20250317. It always crashes.\n",
       "gpu-hang"},
      {fault + "Tried ROCm 6.2, 6.3 and 6.4, all crash in the same way.\n", "gpu-hang"},
      {fault + "Updating to the latest kernel and firmware did not help.\n", "gpu-hang"},
      {died +
           "NCCL_P2P_DISABLE=1 makes no difference, and neither does HSA_OVERRIDE_GFX_VERSION.\n",
       "insufficient-evidence"},
      {died + "I followed the ROCm documentation and installed everything as described, but it "
              "does not work.\n",
       "insufficient-evidence"},
      {died + "What should I do? Does anybody know if ROCm 7.0 works with this?\n",
       "insufficient-evidence"},
      {"Everything works fine with ROCm 6.4 and kernel 6.14 here, thanks for the great work!\n",
       "insufficient-evidence"},
      {"After the upgrade to ROCm 7.0 my training is 20 % faster and everything works.\n",
       "insufficient-evidence"},
      {hang + "Undervolting and a lower power limit made the resets go away.\n", "gpu-hang"},
      {fault + "Tried with and without HSA_OVERRIDE_GFX_VERSION, no difference.\n", "gpu-hang"},
      {fault + "My setup: ROCm 6.4.1, kernel 6.14, PyTorch 2.7.1, Ubuntu 24.04. Works fine for a "
               "while and then crashes.\n",
       "gpu-hang"},
      {hang + "Is there a newer firmware that fixes this?\n", "gpu-hang"},
      {hang + "I updated the kernel to 6.15 and the firmware to 20250509, still the same.\n",
       "gpu-hang"},
      {"llama-bench runs well on ROCm 7.0, 15 % faster than 6.4.\n", "insufficient-evidence"},
  };
  expect(forms);
}

}  // namespace
}  // namespace headroom::findings
