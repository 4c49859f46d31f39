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
#include "core/file/text_file.hpp"

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

bool BinaryParticles::is_one(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) &&
         beginning_of(path).has_value();  // a pipe would block
}

BinaryParticles::BinaryParticles(const std::filesystem::path& path)
    : path_(path), size_(core::ensure_readable(path)) {
  const auto beginning = beginning_of(path);
  ensure(beginning.has_value(), Fault::format, "{} does not begin as a file of Gadget: check its name.",
         path.string());
  named_ = beginning->named;
  swapped_ = beginning->swapped;
  read_header();
  find_blocks();
  (void)block_of({}, -1);  // whether all blocks are whole
}

std::uint64_t BinaryParticles::particles() const {
  std::uint64_t all = 0;
  for (const std::uint64_t of_type : header_.here) all += of_type;
  return all;
}

/// Where the header has its numbers, and how many bytes numbers of particles have. Source: the table of the header in the user
/// guide; of GADGET-4's own, the structure io_header in its source.
struct HeaderPlaces {
  std::size_t number_bytes, masses, time, redshift, totals, high_words, files, box, omega_m, dark_energy, h;
};
constexpr HeaderPlaces kGadget2 = {4, 24, 72, 80, 96, 168, 124, 128, 136, 144, 152},
                       kGadget4 = {8, 48, 96, 104, 112, 0, 168, 160, 0, 0, 0};

/// Whether a header's box and times are possible at these places.
bool is_possible(std::span<const char> bytes, const HeaderPlaces& places, bool swap) {
  const auto time = number_at<double>(bytes, places.time, swap),
             redshift = number_at<double>(bytes, places.redshift, swap),
             box = number_at<double>(bytes, places.box, swap);
  return std::isfinite(box) && box > 0 && box < 1e12 && std::isfinite(time) && std::isfinite(redshift) &&
         redshift > -1e-2 && (places.number_bytes == 4 || std::abs(time * (1 + redshift) - 1) < 1e-3);
}

void BinaryParticles::read_header() {
  std::array<char, kHeaderBytes> bytes{};
  std::ifstream file = core::open_input(path_);
  file.seekg(static_cast<std::streamoff>(block_of("HEAD", 0).at));
  file.read(bytes.data(), bytes.size());
  ensure(file.good(), Fault::format, "{} ends within its header: copy it again.", path_.string());
  const bool own = !is_possible(bytes, kGadget2, swapped_) && is_possible(bytes, kGadget4, swapped_);
  const HeaderPlaces& places = own ? kGadget4 : kGadget2;
  const auto whole = [&](std::size_t at) -> std::uint64_t {
    return places.number_bytes == 8 ? number_at<std::uint64_t>(bytes, at, swapped_)
                                    : number_at<std::uint32_t>(bytes, at, swapped_);
  };
  const auto real = [&](std::size_t at) { return number_at<double>(bytes, at, swapped_); };
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40;
  for (std::size_t type = 0; type < kTypes; ++type) {
    header_.here.push_back(whole(places.number_bytes * type));
    header_.masses.push_back(real(places.masses + 8 * type));
    header_.in_all.push_back(whole(places.totals + places.number_bytes * type));
    if (places.high_words > 0)
      header_.in_all.back() +=
          std::uint64_t{number_at<std::uint32_t>(bytes, places.high_words + 4 * type, swapped_)} << 32;
    ensure(header_.here.back() < kMost, Fault::format,
           "{} has {} particles of type {}: it is not a file of Gadget.", path_.string(), header_.here.back(),
           type);
  }
  const double time = real(places.time);
  const auto stated = [&](std::size_t at) {
    return std::isfinite(real(at)) ? std::optional(real(at)) : std::nullopt;
  };
  header_.redshift = stated(places.redshift);
  header_.files = std::max<std::uint32_t>(1, number_at<std::uint32_t>(bytes, places.files, swapped_));
  header_.box_size = stated(places.box);
  for (const auto& [name, at] : {std::pair{"omega_m", places.omega_m}, {"h", places.h}}) {
    const double value = at > 0 ? real(at) : 0;
    if (std::isfinite(value) && value != 0) header_.parameters[name] = value;
  }
  if (const auto lambda = places.dark_energy > 0 ? stated(places.dark_energy) : std::nullopt;
      lambda && header_.parameters.contains("omega_m"))
    remark_on_curvature(header_.parameters.at("omega_m"), *lambda, header_.remarks);
  if (header_.files == 1) header_.in_all = header_.here;  // some writers leave the totals 0
  ensure(std::ranges::all_of(header_.masses, [](double mass) { return std::isfinite(mass) && mass >= 0; }),
         Fault::format, "{} has a header that is not Gadget's: check its name, or restore it.",
         path_.string());
  if (header_.redshift && time > 0 && time <= 1 + 1e-4 && std::abs(time * (1 + *header_.redshift) - 1) > 1e-3)
    header_.remarks.push_back(fmt::format(
        "the redshift is {:.6g} and the scale factor {:.6g}, which is redshift {:.6g}: the first is used",
        *header_.redshift, time, 1 / time - 1));
  header_.mass_unit = 1;  // 1e10 Msun/h, as its parameter files have it
}

/// The block of this name in format 2, otherwise the one of this number. Nothing at its place if there is none. Throws
/// Error{format} for blocks that do not fit the file.
BinaryParticles::Block BinaryParticles::block_of(std::string_view name, int number) const {
  std::ifstream file = core::open_input(path_);
  const auto word = [&](std::uint64_t at) {
    std::array<char, 4> bytes{};
    ensure(at + bytes.size() <= size_, Fault::format, "{} ends within a block: copy it again.",
           path_.string());
    file.seekg(static_cast<std::streamoff>(at));
    file.read(bytes.data(), bytes.size());
    return number_at<std::uint32_t>(bytes, 0, swapped_);
  };
  constexpr int kMostBlocks = 1000;
  std::uint64_t at = 0;
  for (int b = 0; b < kMostBlocks && at < size_; ++b) {
    std::string here;
    if (named_) {
      ensure(word(at) == kNameBytes && at + 8 + kNameBytes <= size_, Fault::format,
             "{} has no name before its block {}: copy it again.", path_.string(), b + 1);
      here.resize(4);
      file.seekg(static_cast<std::streamoff>(at + 4));
      file.read(here.data(), 4);
      at += 8 + kNameBytes;
    }
    const std::uint64_t bytes = length_of(word(at), at, [&](std::uint64_t end) { return word(end); });
    if (named_ ? core::trimmed(here) == core::trimmed(name) : b == number) return {at + 4, bytes};
    at += 8 + bytes;
  }
  return {};
}

/// The bytes of the block at `at` that begins with `stated`: of one beyond 4 GiB only the rest is stated, and as much more is
/// tried until the number after the block is the same.
template <class Word>
std::uint64_t BinaryParticles::length_of(std::uint32_t stated, std::uint64_t at, const Word& word) const {
  for (std::uint64_t bytes = stated; at + 8 + bytes <= size_; bytes += std::uint64_t{1} << 32)
    if (word(at + 4 + bytes) == stated) return bytes;
  core::fail(
      Fault::format,
      "{} has a block of {} bytes that does not end with that number: it is not of Gadget, or was cut off.",
      path_.string(), stated);
}

/// Finds positions and masses.
void BinaryParticles::find_blocks() {
  std::uint64_t with_masses = 0;
  for (std::size_t type = 0; type < kTypes; ++type)
    with_masses += header_.masses[type] == 0 ? header_.here[type] : 0;
  const auto array_of = [&](std::string_view name, int number, std::uint64_t numbers) -> Array {
    const Block block = block_of(name, number);
    if (block.at == 0) return {};
    for (const std::size_t bytes : {sizeof(float), sizeof(double)})
      if (block.bytes == numbers * bytes) return {block.at, bytes};
    return {0, 1};  // there, of another size
  };
  positions_ = array_of("POS", 1, 3 * particles());
  ensure(positions_.at > 0 || particles() == 0, Fault::format,
         "{} has no block of positions of {} particles in 4 or 8 bytes: it is not of Gadget, or was cut off.",
         path_.string(), particles());
  if (with_masses == 0 || positions_.at == 0) return;
  masses_ = array_of("MASS", 4, with_masses);
  if (masses_.at == 0 && masses_.bytes > 0)
    header_.remarks.push_back("its block in the place of the masses has another size, and is not read");
}

template <class T>
void BinaryParticles::read_numbers(const Array& block, std::uint64_t first, std::span<T> numbers) const {
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
