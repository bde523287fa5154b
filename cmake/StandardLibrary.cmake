# Links libstdc++ and libgcc into a program, with what the archive of libstdc++ asks for beyond the C library of the oldest system.
function(headroom_link_standard_library_in program)
  add_library(${program}_arc4random OBJECT ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/arc4random.c)
  target_link_libraries(${program} PRIVATE ${program}_arc4random)
  target_link_options(${program} PRIVATE -static-libstdc++ -static-libgcc)
endfunction()
