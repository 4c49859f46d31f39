# cosmo_library(NAME SOURCES ... LINKS ...): one room as a static library.
# cosmo_tool(NAME SOURCES ... LINKS ...): one executable in bin/.
# cosmo_precompiled: the headers that nearly every file reads, parsed once; json.hpp and fmt were a third of the build.
# The portable preset compiles without it, so that every file is known to include what it uses.
set(COSMO_SANITIZE "" CACHE STRING "Sanitizers to build with, as -fsanitize= takes them")

add_library(cosmo_flags INTERFACE)
# Everything is compiled for one machine, so how functions pass vectors wider than its own (psabi) concerns no other machine.
target_compile_options(cosmo_flags INTERFACE ${COSMO_MACHINE_FLAGS} -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                                             -Wno-psabi)
# Clang remarks where it does not vectorize, and that libstdc++ 12's std::stable_sort calls what it deprecates; Clang 19 that
# -march=native names AVX10 in a way that it reads as more, on CPUs that have it.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  include(CheckCXXCompilerFlag)
  check_cxx_compiler_flag(-Winvalid-feature-combination COSMO_WARNS_OF_FEATURES)
  target_compile_options(cosmo_flags INTERFACE -Wno-pass-failed -Wno-deprecated-declarations
                                               $<$<BOOL:${COSMO_WARNS_OF_FEATURES}>:-Wno-invalid-feature-combination>)
endif()
target_include_directories(cosmo_flags INTERFACE ${CMAKE_SOURCE_DIR})
target_link_libraries(cosmo_flags INTERFACE fmt::fmt nlohmann_json::nlohmann_json OpenMP::OpenMP_CXX)
# Unity builds include files, whose unnamed namespaces GCC would not expect in what is included.
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(cosmo_flags INTERFACE -Wno-subobject-linkage)
endif()
if(COSMO_SANITIZE)
  target_compile_options(cosmo_flags INTERFACE -fsanitize=${COSMO_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(cosmo_flags INTERFACE -fsanitize=${COSMO_SANITIZE})
endif()

set(COSMO_PRECOMPILED ${CMAKE_SOURCE_DIR}/core/format/json.hpp <fmt/format.h> <fmt/ranges.h> <algorithm> <array> <cmath> <cstdint> <filesystem>
                      <functional> <map> <memory> <optional> <span> <string> <string_view> <vector>)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/precompiled.cpp CONTENT "")
add_library(cosmo_precompiled STATIC ${CMAKE_BINARY_DIR}/precompiled.cpp)
target_link_libraries(cosmo_precompiled PUBLIC cosmo_flags)
target_precompile_headers(cosmo_precompiled PRIVATE ${COSMO_PRECOMPILED})

function(cosmo_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC cosmo_flags ${arg_LINKS})
  target_precompile_headers(${name} REUSE_FROM cosmo_precompiled)
endfunction()

# cosmo_tool(cosmo-x SOURCES ... LINKS ...): the commands of an executable as a library, cosmo_x_tool, which tests
# link too, and the executable, tool/main.cpp.
function(cosmo_tool name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS" ${ARGN})
  string(REPLACE "-" "_" library ${name}_tool)
  cosmo_library(${library} SOURCES ${arg_SOURCES} LINKS ${arg_LINKS})
  add_executable(${name} tool/main.cpp)
  target_link_libraries(${name} PRIVATE ${library} cosmo_cpu)
  target_precompile_headers(${name} REUSE_FROM cosmo_precompiled)
endfunction()
