// Files of white noise, of 4 values per side.
#include "sim/linear/noise_file.hpp"
#include "tests/faults/fuzz/fuzz.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cosmo;
  const std::filesystem::path path = fuzz::file_of(data, size);
  fuzz::read_or_refuse([&] { (void)sim::open_noise(path, 4); });
  return 0;
}
