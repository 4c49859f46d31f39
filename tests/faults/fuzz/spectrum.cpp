// Spectra and transfer functions of CAMB and CLASS.
#include "sim/linear/spectrum_table.hpp"
#include "tests/faults/fuzz/fuzz.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cosmo;
  const std::filesystem::path path = fuzz::file_of(data, size);
  fuzz::read_or_refuse([&] {
    const sim::SpectrumTable table = sim::read_spectrum_table(path);
    sim::ensure_covers(table, 0.96, {64, 256.0});
    (void)sim::transfer_function(table, 0.96)(0.1);
  });
  return 0;
}
