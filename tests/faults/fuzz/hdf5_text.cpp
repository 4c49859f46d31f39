// Text attributes of HDF5 files, which are read without HDF5.
#include <cstring>

#include "core/hdf5/text.hpp"
#include "tests/faults/fuzz/fuzz.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cosmo;
  constexpr std::size_t kRoot = 64;  // where a file's first block has the address of the root's header
  std::uint64_t root = 0;
  if (size < kRoot + sizeof root) return 0;
  std::memcpy(&root, data + kRoot, sizeof root);
  core::hdf5::Places places(fuzz::file_of(data, size));
  (void)core::hdf5::read_texts(places, root, "schema", 1);
  (void)core::hdf5::read_texts(places, root, "parameter_names", 7);
  return 0;
}
