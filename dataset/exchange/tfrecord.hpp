#pragma once
// TFRecord files: records one after the other, each framed as
//   length u64, masked CRC-32C of the length u32, the bytes, masked CRC-32C of the bytes u32
// (all little-endian), the whole file may be gzip. masked(crc) = (crc rotated right by 15) + 0xa282ead8.
// Source: TensorFlow's tutorial "TFRecord and tf.train.Example", section "TFRecords format details".

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

namespace cosmo::dataset {

/// The record in its frame.
std::vector<std::byte> framed(std::span<const std::byte> record);

/// Record `index` of a file, counted from 0; without an index, the only one. Compares its checksums; reads no
/// other record unless the file is gzip. Throws Error{io}, or Error{format} naming the file.
std::vector<std::byte> read_record(const std::filesystem::path& path, std::optional<std::uint32_t> index);

}  // namespace cosmo::dataset
