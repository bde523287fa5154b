# ccache where it is installed, unless a launcher was chosen. Precompiled headers need the two settings: ccache then
# looks at what a precompiled header was made of, and g++ says which one a source uses.
find_program(HEADROOM_CCACHE ccache)
mark_as_advanced(HEADROOM_CCACHE)
if(HEADROOM_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${HEADROOM_CCACHE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(headroom_options INTERFACE -fpch-preprocess)
  endif()
endif()
