#include "histogram/particles/binary_particles.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <optional>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/file/input_file.hpp"

namespace cosmo::histogram {

using core::ensure;
using core::Fault;

namespace {

constexpr std::size_t kTypes = 6;
constexpr std::uint32_t kHeaderBytes = 256, kNameBytes = 8;

/// A number of 4 or 8 bytes in the other byte order.
template <class T>
T swapped(T value) {
  if constexpr (sizeof(T) == 4)
    return std::bit_cast<T>(__builtin_bswap32(std::bit_cast<std::uint32_t>(value)));
  else
    return std::bit_cast<T>(__builtin_bswap64(std::bit_cast<std::uint64_t>(value)));
}

/// The number at `at` in some bytes.
template <class T>
T number_at(std::span<const char> bytes, std::size_t at, bool swap) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return swap ? swapped(value) : value;
}

/// How a file begins, if as one of Gadget's.
struct Beginning {
  bool named, swapped;
};
std::optional<Beginning> beginning_of(const std::filesystem::path& path) {
  std::array<char, 4> bytes{};
  std::ifstream file(path, std::ios::binary);
  if (!file.read(bytes.data(), bytes.size())) return std::nullopt;
  for (const bool swap : {false, true}) {
    const auto first = number_at<std::uint32_t>(bytes, 0, swap);
    if (first == kHeaderBytes) return Beginning{false, swap};
    if (first == kNameBytes) return Beginning{true, swap};
  }
  return std::nullopt;
}

}  // namespace

bool BinaryParticles::is_one(const std::filesystem::path& path) { return beginning_of(path).has_value(); }

BinaryParticles::BinaryParticles(const std::filesystem::path& path)
    : path_(path), size_(core::ensure_readable(path)) {
  const auto beginning = beginning_of(path);
  ensure(beginning.has_value(), Fault::format, "{} does not begin as a file of Gadget: check its name.",
         path.string());
  named_ = beginning->named;
  swapped_ = beginning->swapped;
  read_header();
  find_blocks();
}

std::uint64_t BinaryParticles::particles() const {
  std::uint64_t all = 0;
  for (const std::uint64_t of_type : header_.here) all += of_type;
  return all;
}

/// Source: the table of the header in the user guide.
void BinaryParticles::read_header() {
  std::array<char, kHeaderBytes> bytes{};
  std::ifstream file = core::open_input(path_);
  file.seekg((named_ ? 2 * sizeof(std::uint32_t) + kNameBytes : 0) + sizeof(std::uint32_t));
  file.read(bytes.data(), bytes.size());
  ensure(file.good(), Fault::format, "{} ends within its header: copy it again.", path_.string());
  const auto whole = [&](std::size_t at) { return number_at<std::uint32_t>(bytes, at, swapped_); };
  const auto real = [&](std::size_t at) { return number_at<double>(bytes, at, swapped_); };
  for (std::size_t type = 0; type < kTypes; ++type) {
    header_.here.push_back(whole(4 * type));
    header_.masses.push_back(real(24 + 8 * type));
    header_.in_all.push_back(whole(96 + 4 * type) + (std::uint64_t{whole(168 + 4 * type)} << 32));
  }
  const double time = real(72);
  header_.redshift = real(80);
  header_.files = std::max<std::uint32_t>(1, whole(124));
  header_.box_size = real(128);
  for (const auto& [name, at] : {std::pair{"omega_m", 136}, {"h", 152}}) {
    const double value = real(static_cast<std::size_t>(at));
    if (std::isfinite(value) && value != 0) header_.parameters[name] = value;
  }
  if (header_.files == 1) header_.in_all = header_.here;  // some writers leave the totals 0
  const bool sound =
      std::ranges::all_of(header_.masses, [](double mass) { return std::isfinite(mass) && mass >= 0; }) &&
      std::isfinite(time) && std::isfinite(header_.redshift) && std::isfinite(header_.box_size);
  ensure(sound, Fault::format, "{} has a header that is not Gadget's: check its name, or restore it.",
         path_.string());
  if (time > 0 && time <= 1 + 1e-4 && std::abs(time * (1 + header_.redshift) - 1) > 1e-3)
    header_.remarks.push_back(fmt::format(
        "the redshift is {:.6g} and the scale factor {:.6g}, which is redshift {:.6g}: the first is used",
        header_.redshift, time, 1 / time - 1));
  header_.mass_unit = 1;  // 1e10 Msun/h, as its parameter files have it
}

/// Finds positions and masses. A block's bytes beyond 4 GiB are missing from the number before it.
void BinaryParticles::find_blocks() {
  std::ifstream file = core::open_input(path_);
  const auto word = [&](std::uint64_t at) {
    std::array<char, 4> bytes{};
    ensure(at + bytes.size() <= size_, Fault::format, "{} ends within a block: copy it again.",
           path_.string());
    file.seekg(static_cast<std::streamoff>(at));
    file.read(bytes.data(), bytes.size());
    return number_at<std::uint32_t>(bytes, 0, swapped_);
  };
  std::uint64_t with_masses = 0;
  for (std::size_t type = 0; type < kTypes; ++type)
    with_masses += header_.masses[type] == 0 ? header_.here[type] : 0;
  const std::uint64_t all = particles(), name = named_ ? 2 * sizeof(std::uint32_t) + kNameBytes : 0;
  std::uint64_t at = name + 2 * sizeof(std::uint32_t) + kHeaderBytes;
  constexpr std::array<const char*, 4> kBlocks = {"positions", "velocities", "IDs", "masses"};
  for (std::size_t b = 0; b < kBlocks.size() && (b < 3 || with_masses > 0); ++b) {
    if (b > 0 && at >= size_) break;  // files cut after the positions are taken
    at += name;
    const std::uint64_t numbers = b < 2 ? 3 * all : b == 2 ? all : with_masses;
    const std::uint32_t stated = word(at);
    std::size_t bytes = 0;
    for (const std::size_t of : {sizeof(float), sizeof(double)})
      if (static_cast<std::uint32_t>(numbers * of) == stated) bytes = of;
    const bool fits = bytes > 0 && numbers <= (size_ - at) / bytes && at + 8 + numbers * bytes <= size_ &&
                      word(at + 4 + numbers * bytes) == stated;
    ensure(
        fits || b > 0, Fault::format,
        "{} has a block of {} bytes where {} of {} particles in 4 or 8 bytes are expected: it is not of Gadget, or "
        "was cut off.",
        path_.string(), stated, kBlocks[b], all);
    if (!fits) break;
    if (b == 0) positions_ = {at + 4, bytes};
    if (b == 3) masses_ = {at + 4, bytes};
    at += 8 + numbers * bytes;
  }
}

template <class T>
void BinaryParticles::read_numbers(const Block& block, std::uint64_t first, std::span<T> numbers) const {
  std::ifstream file = core::open_input(path_);
  file.seekg(static_cast<std::streamoff>(block.at + first * block.bytes));
  const auto read = [&](auto kind) {
    using Stored = decltype(kind);
    std::vector<Stored> part(std::min<std::size_t>(numbers.size(), 1 << 16));
    for (std::size_t done = 0; done < numbers.size(); done += part.size()) {
      const std::span<Stored> some = std::span(part).first(std::min(part.size(), numbers.size() - done));
      file.read(reinterpret_cast<char*>(some.data()), static_cast<std::streamsize>(some.size_bytes()));
      ensure(file.good(), Fault::io, "{} cannot be read: check the disk.", path_.string());
      for (std::size_t i = 0; i < some.size(); ++i)
        numbers[done + i] = static_cast<T>(swapped_ ? swapped(some[i]) : some[i]);
    }
  };
  if (block.bytes == sizeof(float))
    read(float{});
  else
    read(double{});
}

std::size_t BinaryParticles::float_bytes(std::size_t) const { return positions_.bytes; }

void BinaryParticles::read_positions(std::size_t type, std::uint64_t first,
                                     std::span<float> positions) const {
  for (std::size_t before = 0; before < type; ++before) first += header_.here[before];
  read_numbers(positions_, 3 * first, positions);
}
void BinaryParticles::read_positions(std::size_t type, std::uint64_t first,
                                     std::span<double> positions) const {
  for (std::size_t before = 0; before < type; ++before) first += header_.here[before];
  read_numbers(positions_, 3 * first, positions);
}

bool BinaryParticles::has_masses(std::size_t type) const {
  return header_.masses[type] == 0 && masses_.at > 0;
}

void BinaryParticles::read_masses(std::size_t type, std::uint64_t first, std::span<double> masses) const {
  for (std::size_t before = 0; before < type; ++before)
    first += header_.masses[before] == 0 ? header_.here[before] : 0;
  read_numbers(masses_, first, masses);
}

}  // namespace cosmo::histogram
