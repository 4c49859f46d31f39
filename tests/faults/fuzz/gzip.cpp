// gzip files, read in small and in large pieces.
#include "core/file/gzip.hpp"

#include <vector>

#include "tests/faults/fuzz/fuzz.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cosmo;
  constexpr std::size_t kMost = 1 << 20;  // a small file may hold very much
  const std::filesystem::path path = fuzz::file_of(data, size);
  for (const std::size_t piece : {std::size_t{7}, std::size_t{70'000}}) {
    fuzz::read_or_refuse([&] {
      core::GzipFile file(path);
      std::vector<std::byte> bytes(piece);
      for (std::size_t read = 0; read < kMost; read += piece) {
        if (file.read(bytes) < piece) break;
      }
    });
  }
  return 0;
}
