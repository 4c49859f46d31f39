#include "dataset/exchange/npy_samples.hpp"

#include <algorithm>
#include <fstream>

#include "core/error.hpp"
#include "core/file/input_file.hpp"
#include "core/format/npy.hpp"
#include "dataset/exchange/exchange_format.hpp"

namespace cosmo::dataset {

using core::ensure;
using core::Fault;

namespace {

constexpr std::size_t kLongestHeader = 1 << 16;  ///< [bytes]

std::vector<std::byte> read_part(const std::filesystem::path& path, std::size_t first, std::size_t bytes) {
  std::ifstream file = core::open_input(path);
  std::vector<std::byte> part(bytes);
  file.seekg(static_cast<std::streamoff>(first));
  file.read(reinterpret_cast<char*>(part.data()), static_cast<std::streamsize>(bytes));
  ensure(file.good(), Fault::io, "{} cannot be read to its end: restore it.", path.string());
  return part;
}

/// Number of samples of `channels` channels in an array of this shape; 0 if it is none of such.
std::size_t samples_in(const std::vector<int>& shape, int channels) {
  const std::size_t axes = shape.size();
  if (axes < 3 || axes > 5) return 0;
  const auto last = shape.end() - 3;
  if (last[0] != last[1] || last[1] != last[2]) return 0;
  const auto first = static_cast<std::size_t>(shape.front());
  if (axes == 3) return channels == 1 ? 1 : 0;
  if (axes == 4) return channels == 1 ? first : shape.front() == channels ? 1 : 0;
  return shape[1] == channels ? first : 0;
}

}  // namespace

NpySamples::NpySamples(std::filesystem::path path, int channels)
    : path_(std::move(path)), channels_(channels) {
  const std::string source = path_.string();
  const std::uintmax_t size = core::ensure_readable(path_);
  const std::vector<std::byte> beginning =
      read_part(path_, 0, std::min<std::size_t>(kLongestHeader, static_cast<std::size_t>(size)));
  core::NpyLayout layout = core::read_npy_layout(beginning, size, source);
  samples_ = samples_in(layout.shape, channels);
  const std::string one = channels == 1 ? "n, n, n" : fmt::format("{}, n, n, n", channels);
  ensure(
      samples_ > 0, Fault::format,
      "{} has the shape ({}), which is not a cube of {} channel{}, one per redshift, nor several: save ({}), "
      "or (N, {}) for N universes.",
      source, fmt::join(layout.shape, ", "), channels, channels == 1 ? "" : "s", one, one);
  check_element_type(layout.type, source);
  side_ = layout.shape.back();
  start_ = layout.start;
  bytes_ = (static_cast<std::size_t>(size) - start_) / samples_;
  type_ = std::move(layout.type);
}

std::size_t NpySamples::memory_bytes(VoxelKind kind) const {
  const auto n = static_cast<std::size_t>(side_);
  return bytes_ + n * n * n * static_cast<std::size_t>(channels_) * voxel_bytes(kind);
}

std::vector<std::byte> NpySamples::read(std::size_t i, VoxelKind kind) const {
  const std::vector<std::byte> elements = read_part(path_, start_ + i * bytes_, bytes_);
  return voxels_of_elements(type_, elements, kind,
                            of_many() ? fmt::format("{}, universe {},", path_.string(), i) : path_.string());
}

}  // namespace cosmo::dataset
