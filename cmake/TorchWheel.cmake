# The libtorch in a PyTorch wheel, for `./dev build-with-torch`: HEADROOM_TORCH is the wheel's folder `torch`. Sets what
# find_package(Torch) sets. The wheel's own TorchConfig.cmake is not asked: it wants the whole CUDA toolkit or ROCm of the
# wheel's build, of which a program that only links to the wheel's libraries needs nothing.

set(torch_library_folder ${HEADROOM_TORCH}/lib)
foreach(file libtorch.so libtorch_cpu.so libc10.so)
  if(NOT EXISTS ${torch_library_folder}/${file})
    message(FATAL_ERROR "HEADROOM_TORCH: expected a wheel's folder `torch` with lib/${file}, found none in ${HEADROOM_TORCH}")
  endif()
endforeach()

# Which of libstdc++'s two std::strings the wheel was compiled with: the new one has its name in the symbols. PyTorch's wheels
# have it from 2.7 on; of 2.6 those for ROCm 6.2.4 and for CUDA 12.6 have it.
file(STRINGS ${torch_library_folder}/libc10.so new_strings REGEX "^_ZN3c10.*NSt7__cxx1112basic_string" LIMIT_COUNT 1)
if(new_strings)
  set(HEADROOM_OLD_STRINGS OFF)
else()
  set(HEADROOM_OLD_STRINGS ON)
endif()

# Its headers by links: beside them in the wheel lies a fmt, which would come before ours.
set(torch_headers ${CMAKE_BINARY_DIR}/torch-headers)
file(MAKE_DIRECTORY ${torch_headers})
foreach(folder ATen c10 caffe2 torch)
  file(CREATE_LINK ${HEADROOM_TORCH}/include/${folder} ${torch_headers}/${folder} SYMBOLIC)
endforeach()
set(TORCH_INCLUDE_DIRS ${torch_headers} ${torch_headers}/torch/csrc/api/include)

# libtorch.so is needed though no symbol is taken from it: it brings the kernels of the wheel's GPUs.
set(TORCH_LIBRARIES -Wl,--no-as-needed ${torch_library_folder}/libtorch.so -Wl,--as-needed
  ${torch_library_folder}/libtorch_cpu.so ${torch_library_folder}/libc10.so)
set(TORCH_DEFINITIONS USE_DISTRIBUTED USE_C10D_GLOO)  # What the wheel's CMake defines where it has c10d and Gloo.
# The wheel's libraries need further ones of the wheel and of its neighbours, which the loader finds by RPATHs of theirs.
add_link_options(-Wl,-rpath-link,${torch_library_folder} -Wl,--allow-shlib-undefined)
list(APPEND CMAKE_BUILD_RPATH ${torch_library_folder})
list(APPEND CMAKE_INSTALL_RPATH ${torch_library_folder})
