# Writes version_facts.hpp at build time; the file is touched only when a fact has changed.
execute_process(COMMAND git describe --always --dirty --exclude=* WORKING_DIRECTORY ${SOURCE_DIR}
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(commit unknown)
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT [[
#pragma once
inline constexpr const char* kVersion = "@VERSION@";
inline constexpr const char* kGitCommit = "@commit@";
inline constexpr const char* kCompiler = "@COMPILER@";
inline constexpr const char* kBuildType = "@BUILD_TYPE@";
inline constexpr const char* kMachineFlags = "@MACHINE_FLAGS@";
]] @ONLY)
