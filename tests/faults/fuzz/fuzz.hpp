#pragma once
// What the fuzz targets share. A target is one LLVMFuzzerTestOneInput(), which hands any bytes to readers of
// the toolkit: they may read them or refuse them in a sentence. libFuzzer looks for bytes on which they do
// neither.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>

#include "core/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace cosmo::fuzz {

/// A file in memory that holds these bytes until the next call.
inline std::filesystem::path file_of(std::span<const std::byte> bytes) {
  static const int file = memfd_create("fuzz", 0);
  if (file < 0 || ftruncate(file, 0) != 0 ||
      pwrite(file, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    std::abort();
  return "/proc/self/fd/" + std::to_string(file);
}

inline std::filesystem::path file_of(const std::uint8_t* data, std::size_t size) {
  return file_of(std::as_bytes(std::span(data, size)));
}

/// Runs `read`, which may refuse its input; internal errors and unexpected exceptions end the program.
template <class Read>
void read_or_refuse(const Read& read) {
  try {
    read();
  } catch (const core::Error& error) {
    if (error.fault() == core::Fault::internal) throw;
  }
}

}  // namespace cosmo::fuzz
