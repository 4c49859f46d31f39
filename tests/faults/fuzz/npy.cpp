// .npy files: the header and the elements as voxels.
#include "dataset/exchange/exchange_format.hpp"
#include "tests/faults/fuzz/fuzz.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cosmo;
  const std::filesystem::path path = fuzz::file_of(data, size);
  const dataset::ExchangeFormat& format = dataset::find_exchange_format("npy", "");
  for (const auto kind : {dataset::VoxelKind::counts, dataset::VoxelKind::field}) {
    for (const int channels : {1, 2})
      fuzz::read_or_refuse([&] { (void)format.decode({path, std::nullopt, channels, kind}); });
  }
  return 0;
}
