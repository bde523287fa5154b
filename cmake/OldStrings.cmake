# Everything with the older of libstdc++'s two std::strings, for PyTorch's wheels that have it (up to 2.6). Of the libraries
# that we link, those with std::string in their interface are compiled for it; the others are C.
add_compile_definitions(_GLIBCXX_USE_CXX11_ABI=0)
include(cmake/HeaderArchives.cmake)
set(RE2_LIBRARY ${CMAKE_BINARY_DIR}/re2/obj/libre2.a)
if(NOT EXISTS ${RE2_LIBRARY})
  execute_process(COMMAND ${CMAKE_SOURCE_DIR}/tools/re2_with_old_strings.sh ${CMAKE_BINARY_DIR}/re2 COMMAND_ERROR_IS_FATAL ANY)
endif()
