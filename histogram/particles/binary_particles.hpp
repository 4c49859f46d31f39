#pragma once
// A file in one of Gadget's two binary formats, in either byte order.
//
// A file is a row of Fortran records: the number of its bytes (int32) before and after each block. Blocks: a header of 256
// bytes, positions (n, 3), velocities (n, 3), IDs (n), and masses of the types whose mass in the header is 0, each of all
// types in their order. In format 2 a record of 8 bytes with the block's name precedes each, and names count rather than places.
// GADGET-4 has a header of its own, with numbers of 8 bytes. Source: V. Springel, User guide for GADGET-2 (2005), section 6.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "histogram/particles/particle_file.hpp"

namespace cosmo::histogram {

class BinaryParticles : public ParticleFile {
 public:
  /// Whether a file begins as one of them.
  static bool is_one(const std::filesystem::path& path);

  /// Throws Error{format} for blocks that do not fit the header or the file.
  explicit BinaryParticles(const std::filesystem::path& path);

  std::size_t float_bytes(std::size_t type) const override;
  void read_positions(std::size_t type, std::uint64_t first, std::span<float> positions) const override;
  void read_positions(std::size_t type, std::uint64_t first, std::span<double> positions) const override;
  bool has_positions(std::size_t) const override { return true; }
  bool has_masses(std::size_t type) const override;
  void read_masses(std::size_t type, std::uint64_t first, std::span<double> masses) const override;

 private:
  /// A part of the file; at 0 if there is none.
  struct Block {
    std::uint64_t at = 0, bytes = 0;
  };
  /// An array of numbers in the file.
  struct Array {
    std::uint64_t at = 0;   ///< where its first number is; 0 if there is none
    std::size_t bytes = 0;  ///< bytes in a number, 4 or 8
  };

  Block block_of(std::string_view name, int number) const;
  template <class Word>
  std::uint64_t length_of(std::uint32_t stated, std::uint64_t at, const Word& word) const;
  void read_header();
  void find_blocks();
  std::uint64_t particles() const;
  /// Numbers from the `first` of an array on.
  template <class T>
  void read_numbers(const Array& array, std::uint64_t first, std::span<T> numbers) const;

  std::filesystem::path path_;
  std::uint64_t size_;  ///< bytes in the file
  bool named_ = false;  ///< format 2
  bool swapped_ = false;
  Array positions_, masses_;
};

}  // namespace cosmo::histogram
