# From hip_names.txt and hip_table.txt, what the stand-in with a table is made of: ${hip_functions}, a list of the functions
# that it does, and ${hip_front}, what it exports, all of which jump through the table. Functions that are not in the
# runtime's table stand behind its end, where nobody else looks.
set(hip_functions ${CMAKE_CURRENT_BINARY_DIR}/hip_functions.cpp)
set(hip_front ${CMAKE_CURRENT_BINARY_DIR}/hip_front_stubs.cpp)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS hip_table.txt)
file(STRINGS hip_table.txt table REGEX "^[^#]")
file(STRINGS hip_names.txt rows REGEX "^[^#]")
list(TRANSFORM rows REPLACE " .*" "" OUTPUT_VARIABLE exported)
list(APPEND exported fake_gpu_count fake_gpu_refusals)
list(LENGTH table table_count)
set(all ${table} ${exported})
list(REMOVE_DUPLICATES all)
set(declarations "")
set(entries "")
set(stubs "")
set(place 0)
foreach(name IN LISTS all)
  math(EXPR place "${place} + 1")
  math(EXPR offset "${place} * 8")
  string(APPEND declarations "__attribute__((weak)) void ${name}();\n")
  string(APPEND entries "  reinterpret_cast<void*>(&${name}),\n")
  # What is in the table is the runtime's own code, so each function has a stub there too.
  string(APPEND stubs "STUB(${name}, ${offset})\n")
endforeach()
set(own "")
foreach(name IN LISTS all)
  string(APPEND own "  &own_${name},\n")
endforeach()
list(LENGTH all all_count)
file(CONFIGURE OUTPUT ${hip_functions} @ONLY CONTENT "extern \"C\" {
${declarations}__attribute__((visibility(\"default\"))) extern void* const fake_hip_functions[];
void* const fake_hip_functions[] = {
${entries}};
}
")
file(CONFIGURE OUTPUT ${hip_front} @ONLY CONTENT "#include \"stand_ins/hip_front.h\"
#define STUB HEADROOM_FRONT_STUB
${stubs}extern \"C\" {
const unsigned long front_table_count = ${table_count};
const unsigned long front_all_count = ${all_count};
void* fake_hip_table[${all_count} + 1];
void (*const front_own[])() = {
${own}};
}
")
