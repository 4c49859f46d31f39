// TFRecord files in both dialects, plain and compressed, with checksums that agree.
#include "dataset/exchange/tfrecord.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "core/file/checksum.hpp"
#include "core/file/gzip.hpp"
#include "dataset/exchange/exchange_format.hpp"
#include "tests/faults/fuzz/fuzz.hpp"

namespace {

using namespace cosmo;

void mend_checksum(std::span<std::byte> content, std::span<std::byte> checksum) {
  const std::uint32_t masked = std::rotr(core::crc32c(content), 15) + 0xa282ead8u;
  std::memcpy(checksum.data(), &masked, sizeof masked);
}

/// Makes the checksums of all records agree with their lengths and bytes.
void mend(std::span<std::byte> file) {
  constexpr std::size_t kLength = 8, kChecksum = 4;
  while (file.size() >= kLength + kChecksum) {
    std::uint64_t length = 0;
    std::memcpy(&length, file.data(), sizeof length);
    mend_checksum(file.first(kLength), file.subspan(kLength, kChecksum));
    file = file.subspan(kLength + kChecksum);
    if (file.size() < kChecksum || length > file.size() - kChecksum) return;
    mend_checksum(file.first(length), file.subspan(length, kChecksum));
    file = file.subspan(length + kChecksum);
  }
}

void read_records(const std::filesystem::path& path) {
  fuzz::read_or_refuse([&] { (void)dataset::read_record(path, std::nullopt); });
  fuzz::read_or_refuse([&] { (void)dataset::read_record(path, 1); });
}

void read_samples(const std::filesystem::path& path) {
  for (const char* dialect : {"mlperf", "cosmoflow"}) {
    const dataset::ExchangeFormat& format = dataset::find_exchange_format("tfrecord", dialect);
    fuzz::read_or_refuse([&] { (void)format.decode({path, std::nullopt, 1, dataset::VoxelKind::counts}); });
    fuzz::read_or_refuse([&] { (void)format.decode({path, 1, 2, dataset::VoxelKind::field}); });
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  read_records(fuzz::file_of(bytes));
  std::vector<std::byte> file(bytes.begin(), bytes.end());
  mend(file);
  read_samples(fuzz::file_of(file));
  read_records(fuzz::file_of(core::gzip(file)));
  return 0;
}
