#pragma once
// White noise in files: the initial phases of other people's universes, and of ours for others.
//
// A file holds N³ independent values of mean 0 and variance 1, one for each point (i, j, k) L/N, positive
// where matter is overdense. Bytes are little-endian, values float or double.
//   grafic  Fortran records, each between two markers that state its length (4 bytes, or 8): n1, n2, n3 and
//           iseed as int32; then n3 planes of constant z with n2 rows along x, x fastest.
//   .npy    what numpy.save writes of an array noise[x, y, z].
// Source: the reader of MUSIC (Hahn & Abel 2011, arXiv:1103.6031) and monofonIC, which turn the sign of what
// they read unless their parameter file has grafic_sign = yes.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/file/file_state.hpp"
#include "core/fourier/fourier_mesh.hpp"

namespace cosmo::sim {

/// A file whose values were all read once and are white noise.
struct NoiseFile {
  std::string path;
  std::string sha256;        ///< SHA-256 of the file's bytes
  int side;                  ///< values per side
  std::size_t value_bytes;   ///< 4: float, 8: double
  bool x_fastest;            ///< planes are of constant z and x is fastest; else of constant x, z fastest
  std::size_t marker_bytes;  ///< length of what stands before and after each plane
  std::uint64_t start;       ///< place of the first plane with its marker [bytes]
  core::FileState state;     ///< before it was read

  std::size_t plane_bytes() const {
    return value_bytes * static_cast<std::size_t>(side) * static_cast<std::size_t>(side);
  }
  /// Distance between planes [bytes].
  std::size_t distance() const { return plane_bytes() + 2 * marker_bytes; }

  /// A seed that stands for these phases in records: equal for equal files, and different for others.
  std::uint64_t seed() const;
};

/// Reads the whole file once. Throws Error{io} if that fails, and Error{config} or Error{format} naming it
/// and a remedy if it has another number of values per side than `side`, is big-endian, cut short, damaged,
/// or of another kind, or if the values are not unit white noise: one is not finite, their mean is beyond
/// 5/√N³, or their rms is off 1 by more than 5/√(2N³).
NoiseFile open_noise(const std::filesystem::path& path, int side);

/// Reads the file's values into the real field of a mesh of its side; every rank reads the planes that it
/// needs. Collective. Throws, on every rank, Error{io} or Error{format} if the file changed.
void read_noise(const NoiseFile& file, fourier::FourierMesh& noise);

/// Writes a real field as .npy if the path has that extension, else as grafic, in float. `seed` becomes
/// iseed, as far as 31 bits hold it. The root writes one plane after another. Collective. Throws, on every
/// rank, Error{io} if writing fails.
void write_noise(const fourier::FourierMesh& noise, std::uint64_t seed, const std::filesystem::path& path,
                 const std::filesystem::path& part);

/// The same by way of a file beside it, in a folder that is made. Collective. Throws, on every rank, Error{io}.
void publish_noise(const fourier::FourierMesh& noise, std::uint64_t seed, const std::filesystem::path& path);

/// Throws Error{config} naming the option that gave `path` if something is there that may not be replaced, Error{io} if its folder
/// cannot be made.
void ensure_replaceable_noise(const std::filesystem::path& path, std::string_view option, bool force);

}  // namespace cosmo::sim
