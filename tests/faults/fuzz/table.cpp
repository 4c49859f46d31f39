// Tables that users write, of samples, of snapshots, of universes; and that of a suite of packs.
#include "core/universe/universe_table.hpp"
#include "dataset/exchange/sample_table.hpp"
#include "histogram/snapshot/snapshot_table.hpp"
#include "sim/suite/design_table.hpp"
#include "tests/faults/fuzz/fuzz.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cosmo;
  const std::filesystem::path path = fuzz::file_of(data, size);
  fuzz::read_or_refuse([&] { (void)dataset::read_sample_table(path); });
  fuzz::read_or_refuse([&] { (void)histogram::read_snapshot_table(path); });
  fuzz::read_or_refuse(
      [&] { (void)core::varying_in(sim::table_design({}, sim::read_design_table(path, {}), 1)); });
  fuzz::read_or_refuse([&] { (void)core::universe_table(core::read_universe_table(path)); });
  return 0;
}
