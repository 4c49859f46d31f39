#include "sim/linear/noise_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <span>
#include <vector>

#include "core/error.hpp"
#include "core/file/checksum.hpp"
#include "core/file/files.hpp"
#include "core/file/input_file.hpp"
#include "core/format/npy.hpp"

namespace cosmo::sim {

using core::ensure, core::fail, core::Fault;

namespace {

/// n1, n2, n3 and iseed of a grafic file.
using Sizes = std::array<std::int32_t, 4>;

template <class T>
T value_at(std::span<const std::byte> bytes, std::size_t at) {
  T value{};
  if (at + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// The length that a marker states.
std::uint64_t marker_at(std::span<const std::byte> bytes, std::size_t at, std::size_t marker_bytes) {
  return marker_bytes == 8 ? value_at<std::uint64_t>(bytes, at) : value_at<std::uint32_t>(bytes, at);
}

/// The first bytes of a file, at most 64 KiB.
std::vector<std::byte> beginning_of(const std::filesystem::path& path) {
  std::vector<std::byte> bytes(std::min<std::uintmax_t>(core::ensure_readable(path), 1 << 16));
  std::ifstream file = core::open_input(path);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  ensure(file.good(), Fault::io, "{} cannot be read: check the disk.", path.string());
  return bytes;
}

void ensure_side(const std::string& path, const std::string& found, bool fits, int side) {
  ensure(fits, Fault::config,
         "--white-noise {} has {} values and --particles is {}: give --particles the number of values per "
         "side, or noise of that size.",
         path, found, side);
}

/// The length of a marker if the file begins as grafic does, else 0. The lowest byte of the length of the
/// first record, 16, comes first.
std::size_t grafic_marker(std::span<const std::byte> beginning) {
  if (value_at<std::uint64_t>(beginning, 0) == sizeof(Sizes)) return 8;
  return value_at<std::uint32_t>(beginning, 0) == sizeof(Sizes) ? 4 : 0;
}

void read_grafic_header(std::span<const std::byte> beginning, int side, NoiseFile& file) {
  constexpr std::uint32_t kTurned = sizeof(Sizes) << 24;  // of the first record's length
  ensure(value_at<std::uint32_t>(beginning, 0) != kTurned &&
             (value_at<std::uint32_t>(beginning, 0) != 0 || value_at<std::uint32_t>(beginning, 4) != kTurned),
         Fault::format,
         "--white-noise {} is big-endian: write it on a little-endian computer, or save it as .npy with "
         "astype('<f4').",
         file.path);
  file.marker_bytes = grafic_marker(beginning);
  ensure(
      file.marker_bytes > 0, Fault::format,
      "--white-noise {} is neither grafic nor .npy: give a file of cosmo-sim noise, MUSIC or monofonIC, or "
      "what numpy.save wrote.",
      file.path);
  file.start = sizeof(Sizes) + 2 * file.marker_bytes;
  ensure(beginning.size() >= file.start, Fault::format, "--white-noise {} is cut short: restore it.",
         file.path);
  const auto sizes = value_at<Sizes>(beginning, file.marker_bytes);
  ensure_side(file.path, fmt::format("{} x {} x {}", sizes[0], sizes[1], sizes[2]),
              std::all_of(sizes.begin(), sizes.end() - 1, [&](int n) { return n == side; }), side);
  file.x_fastest = true;
  const std::uint64_t values = static_cast<std::uint64_t>(side) * static_cast<std::uint64_t>(side);
  file.value_bytes = marker_at(beginning, file.start, file.marker_bytes) / values;
  ensure((file.value_bytes == 4 || file.value_bytes == 8) &&
             marker_at(beginning, file.marker_bytes + sizeof(Sizes), file.marker_bytes) == sizeof(Sizes) &&
             marker_at(beginning, file.start, file.marker_bytes) == file.plane_bytes(),
         Fault::format,
         "--white-noise {} has no first plane of float or double values: it is cut short or damaged, restore "
         "it.",
         file.path);
}

void read_npy_header(std::span<const std::byte> beginning, std::uint64_t size, int side, NoiseFile& file) {
  const core::NpyLayout layout = core::read_npy_layout(beginning, size, "--white-noise " + file.path);
  ensure_side(file.path, fmt::format("{}", fmt::join(layout.shape, " x ")),
              layout.shape == std::vector<int>(3, side), side);
  ensure(layout.type == "<f4" || layout.type == "<f8", Fault::format,
         "--white-noise {} has values of type '{}': save it with astype('<f4') or astype('<f8').", file.path,
         layout.type);
  file.value_bytes = layout.type == "<f4" ? 4 : 8;
  file.start = layout.start;
}

/// Reads the planes of a file one by one.
class NoisePlanes {
 public:
  explicit NoisePlanes(const NoiseFile& file)
      : file_(file),
        stream_(core::open_input(file.path)),
        bytes_(file.distance()),
        values_(file.plane_bytes() / file.value_bytes) {}

  /// The bytes of the plane read last, with its markers.
  std::span<const std::byte> bytes() const { return bytes_; }

  /// The values of a plane, until the next call.
  std::span<const double> operator()(int plane) {
    const std::uint64_t at = file_.start + static_cast<std::uint64_t>(plane) * file_.distance();
    stream_.seekg(static_cast<std::streamoff>(at));
    stream_.read(reinterpret_cast<char*>(bytes_.data()), static_cast<std::streamsize>(bytes_.size()));
    ensure(stream_.good(), Fault::io, "--white-noise {} cannot be read to its end: restore it.", file_.path);
    const std::size_t marker = file_.marker_bytes, length = file_.plane_bytes();
    ensure(
        marker == 0 ||
            (marker_at(bytes_, 0, marker) == length && marker_at(bytes_, marker + length, marker) == length),
        Fault::format, "--white-noise {} has a damaged record at plane {}: restore it.", file_.path, plane);
    const bool single = file_.value_bytes == sizeof(float);
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const std::size_t place = marker + i * file_.value_bytes;
      values_[i] =
          single ? static_cast<double>(value_at<float>(bytes_, place)) : value_at<double>(bytes_, place);
    }
    return values_;
  }

 private:
  const NoiseFile& file_;
  std::ifstream stream_;
  std::vector<std::byte> bytes_;
  std::vector<double> values_;
};

/// Reads all values; returns the SHA-256 of the file that begins with `header`. Throws Error{format} unless they are
/// unit white noise as far as their mean and rms show.
std::string examine(const NoiseFile& file, std::span<const std::byte> header) {
  double sum = 0, squares = 0;
  core::Sha256 hash;
  hash.update(header);
  NoisePlanes planes(file);
  for (int plane = 0; plane < file.side; ++plane) {
    const std::span<const double> values = planes(plane);
    hash.update(planes.bytes());
    for (std::size_t i = 0; i < values.size(); ++i) {
      ensure(std::isfinite(values[i]), Fault::format,
             "--white-noise {} has a value that is not a finite number, in plane {}: make it again.",
             file.path, plane);
      sum += values[i];
      squares += values[i] * values[i];
    }
  }
  constexpr double kMostSigma = 5;
  const double cells = std::pow(file.side, 3), mean = sum / cells, rms = std::sqrt(squares / cells);
  const double most_mean = kMostSigma / std::sqrt(cells), most_rms = kMostSigma / std::sqrt(2 * cells);
  ensure(
      std::abs(mean) <= most_mean && std::abs(rms - 1) <= most_rms, Fault::format,
      "--white-noise {} has the mean {:.6g} and the rms {:.6g}, and unit white noise of {} values per side "
      "has 0 within {:.6g} and 1 within {:.6g}: scale it, or give another file.",
      file.path, mean, rms, file.side, most_mean, most_rms);
  return hash.finish();
}

}  // namespace

std::uint64_t NoiseFile::seed() const { return std::stoull(sha256.substr(0, 13), nullptr, 16); }

NoiseFile open_noise(const std::filesystem::path& path, int side) {
  const std::uint64_t size = core::ensure_readable(path);
  const core::FileState state = core::state_of(path);
  const std::vector<std::byte> beginning = beginning_of(path);
  NoiseFile file{path.string(), {}, side, 0, false, 0, 0, state};
  const std::string_view text(reinterpret_cast<const char*>(beginning.data()), beginning.size());
  if (text.starts_with(core::kNpyMagic)) {
    read_npy_header(beginning, size, side, file);
  } else {
    read_grafic_header(beginning, side, file);
  }
  const std::uint64_t whole = file.start + static_cast<std::uint64_t>(side) * file.distance();
  ensure(size == whole, Fault::format,
         "--white-noise {} has {} bytes and its header needs {}: it is {}, restore it.", file.path, size,
         whole, size < whole ? "cut short" : "too long");
  file.sha256 = examine(file, std::span(beginning).first(file.start));
  return file;
}

void read_noise(const NoiseFile& file, fourier::FourierMesh& noise) {
  const core::Slab slab = noise.slab();
  const auto n = static_cast<std::size_t>(file.side);
  noise.communicator().agree([&] {
    NoisePlanes planes(file);
    for (int plane = 0; plane < file.side; ++plane) {
      if (!file.x_fastest && !slab.contains(plane)) continue;
      const std::span<const double> values = planes(plane);
      for (std::size_t y = 0; y < n; ++y) {
        if (file.x_fastest) {
          for (int x = slab.first; x < slab.last; ++x)
            noise.row(x, static_cast<int>(y))[plane] =
                static_cast<float>(values[y * n + static_cast<std::size_t>(x)]);
        } else {
          for (std::size_t z = 0; z < n; ++z)
            noise.row(plane, static_cast<int>(y))[z] = static_cast<float>(values[y * n + z]);
        }
      }
    }
    core::ensure_unchanged(file.path, file.state);
  });
}

void write_noise(const fourier::FourierMesh& noise, std::uint64_t seed, const std::filesystem::path& path,
                 const std::filesystem::path& part) {
  const core::Communicator& comm = noise.communicator();
  const core::Slab slab = noise.slab();
  const int side = noise.side();
  const auto n = static_cast<std::size_t>(side);
  const bool grafic = path.extension() != ".npy";
  std::ofstream file;
  const auto write = [&](const void* bytes, std::size_t size) {
    file.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(size));
  };
  const auto record = [&](const void* bytes, std::size_t size) {
    const auto marker = static_cast<std::uint32_t>(size);
    if (grafic) write(&marker, sizeof marker);
    write(bytes, size);
    if (grafic) write(&marker, sizeof marker);
  };
  comm.agree([&] {
    if (!comm.is_root()) return;
    file.open(part, std::ios::binary | std::ios::trunc);
    const Sizes sizes = {side, side, side, static_cast<std::int32_t>(seed & 0x7fffffff)};
    const std::string header = core::npy_header("<f4", {side, side, side});
    if (grafic) record(sizes.data(), sizeof sizes);
    if (!grafic) write(header.data(), header.size());
  });
  std::vector<float> values(n * n);
  for (int plane = 0; plane < side; ++plane) {
    std::ranges::fill(values, 0);
    for (int x = slab.first; x < slab.last; ++x) {
      for (std::size_t y = 0; y < n; ++y) {
        const float* row = noise.row(x, static_cast<int>(y));
        if (grafic) values[y * n + static_cast<std::size_t>(x)] = row[plane];
        if (!grafic && x == plane) std::copy_n(row, n, values.data() + y * n);
      }
    }
    comm.sum(std::span<float>(values));  // each value is one rank's, and 0 on the others
    if (comm.is_root()) record(values.data(), values.size() * sizeof(float));
  }
  comm.agree([&] {
    if (!comm.is_root()) return;
    file.flush();
    ensure(file.good(), Fault::io, "{} cannot be written ({}): check free space and permissions.",
           part.string(), std::strerror(errno));
  });
}

void publish_noise(const fourier::FourierMesh& noise, std::uint64_t seed, const std::filesystem::path& path) {
  const core::Communicator& comm = noise.communicator();
  const std::filesystem::path part = path.string() + ".part";
  comm.agree([&] {
    if (comm.is_root()) core::make_directory(std::filesystem::absolute(path).parent_path());
  });
  try {
    write_noise(noise, seed, path, part);
  } catch (...) {
    std::error_code ignored;
    if (comm.is_root()) std::filesystem::remove(part, ignored);
    throw;
  }
  comm.agree([&] {
    if (comm.is_root()) core::publish_file(part, path);
  });
}

namespace {

/// Whether it is a file that begins as one that write_noise() wrote.
bool is_noise(const std::filesystem::path& path) {
  const std::vector<std::byte> beginning = beginning_of(path);
  const std::string_view text(reinterpret_cast<const char*>(beginning.data()), beginning.size());
  return text.starts_with(core::kNpyMagic) || grafic_marker(beginning) > 0;
}

}  // namespace

void ensure_replaceable_noise(const std::filesystem::path& path, std::string_view option, bool force) {
  core::ensure_place_for(std::filesystem::absolute(path).parent_path());
  if (!std::filesystem::exists(path)) return;
  ensure(std::filesystem::is_regular_file(path) && is_noise(path), Fault::config,
         "--{} {} is not a file of white noise: choose another name.", option, path.string());
  ensure(force, Fault::config, "--{} {} is there already: give --force to replace it, or another name.",
         option, path.string());
}

}  // namespace cosmo::sim
