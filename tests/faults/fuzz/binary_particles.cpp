// Snapshots in Gadget's binary formats: header, blocks, positions and masses.
#include <algorithm>
#include <vector>

#include "histogram/particles/gadget_snapshot.hpp"
#include "tests/faults/fuzz/fuzz.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cosmo;
  const std::filesystem::path path = fuzz::file_of(data, size);
  fuzz::read_or_refuse([&] {
    histogram::GadgetReading reading;
    reading.types = {0, 1, 2, 3, 4, 5};
    reading.length = histogram::LengthScale{1};
    const histogram::GadgetSnapshot snapshot(path, reading);
    std::vector<double> positions(3 * std::min<std::uint64_t>(snapshot.particles(), 1 << 16));
    snapshot.read(0, std::span(positions));
    for (const histogram::ParticleSet& set : snapshot.counted()) {
      std::vector<double> masses(std::min<std::uint64_t>(set.particles, 1 << 16));
      if (snapshot.has_masses(set)) snapshot.read_masses(set, 0, masses);
    }
  });
  return 0;
}
