// JSON files, and journals, whose lines are JSON.
#include "core/format/json.hpp"

#include "core/output/journal.hpp"
#include "tests/faults/fuzz/fuzz.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cosmo;
  const std::filesystem::path path = fuzz::file_of(data, size);
  fuzz::read_or_refuse([&] { (void)core::read_json(path).dump(); });
  fuzz::read_or_refuse([&] { (void)core::Journal("fuzz").read(std::ifstream(path)).dump(); });
  return 0;
}
