# COSMO_MACHINE_FLAGS: what every target is compiled with for the machine that it shall run on.
set(COSMO_ARCHITECTURE "native" CACHE STRING "Value of -march for every target; empty: the compiler's own choice")
set(COSMO_MACHINE_FLAGS)
if(COSMO_ARCHITECTURE)
  list(APPEND COSMO_MACHINE_FLAGS -march=${COSMO_ARCHITECTURE})
endif()
# GCC 12.0 to 12.3 repeats the lower half of constants whose upper half is zero (docs/decisions/0012-gcc-constants.md).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|i.86" AND
   CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12 AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12.4)
  list(APPEND COSMO_MACHINE_FLAGS -mmove-max=128 -mstore-max=128)
endif()

# Whatever the compiler, a program that stores such constants shows that they are right.
file(SHA256 ${CMAKE_CURRENT_LIST_DIR}/constant_initialisers.cpp program)
set(probed "${CMAKE_CXX_COMPILER} ${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_CXX_FLAGS} ${COSMO_MACHINE_FLAGS} ${program}")
if(CMAKE_CROSSCOMPILING)
  message(WARNING "Whether constants are right is not checked when cross-compiling: run the tests where the tools shall run.")
elseif(NOT COSMO_CONSTANTS_PROBED STREQUAL probed)
  unset(constants_wrong CACHE)
  try_run(constants_wrong constants_compile ${CMAKE_BINARY_DIR}/constants ${CMAKE_CURRENT_LIST_DIR}/constant_initialisers.cpp
          COMPILE_DEFINITIONS -O3 -w ${COSMO_MACHINE_FLAGS} CXX_STANDARD 20 RUN_OUTPUT_VARIABLE constants_output
          COMPILE_OUTPUT_VARIABLE constants_errors)
  if(NOT constants_compile)
    message(FATAL_ERROR "${CMAKE_CXX_COMPILER} cannot compile with ${COSMO_MACHINE_FLAGS}:\n${constants_errors}")
  elseif(constants_wrong EQUAL 0)
    set(COSMO_CONSTANTS_PROBED "${probed}" CACHE INTERNAL "Compiler and flags that were found to store constants rightly")
  elseif(constants_wrong STREQUAL "FAILED_TO_RUN")
    message(WARNING "This CPU cannot run what ${COSMO_MACHINE_FLAGS} makes: whether constants are right was not checked. "
                    "Run the tests where the tools shall run.")
  else()
    message(FATAL_ERROR "${CMAKE_CXX_COMPILER} ${CMAKE_CXX_COMPILER_VERSION} stores wrong constants with "
                        "${COSMO_MACHINE_FLAGS}: use GCC 12.4 or later, another compiler, or "
                        "-DCOSMO_ARCHITECTURE=x86-64-v3.\n${constants_output}")
  endif()
endif()
