# tuned for 2 x RX 7900 XT
export PYTORCH_HIP_ALLOC_CONF="expandable_segments:True,max_split_size_mb:64,garbage_collection_threshold:0.9"
export PYTORCH_NO_HIP_MEMORY_CACHING=1
export HSA_OVERIDE_GFX_VERSION=11.0.0
export AMD_SERIALIZE_KERNEL=3 HSA_ENABLE_SDMA=off
export HF_TOKEN=a-secret
HIP_VISIBLE_DEVICES=0
export GPU_SINGLE_ALLOC_PERCENT=100
sudo grubby --update-kernel=ALL --args="amdgpu.gttsize=32768 amd_iommu=off"
