#pragma once
// A file in Gadget's HDF5 layout, from any code.
//
//   /PartType1/Coordinates  float32 or float64 (n, 3), comoving; or those of another particle type
//   /PartType1/Masses       where the header states no mass for the type
//   attributes of /Header   NumPart_ThisFile, NumPart_Total (and _HighWord), NumFilesPerSnapshot, MassTable, BoxSize,
//                           Redshift; perhaps Omega0, OmegaBaryon, HubbleParam; other codes have other words
//                           (header_names.cpp)
//   UnitLength_in_cm        in /Parameters, /Units or /Header, for lengths times h; or SWIFT's
//                           "Unit length in cgs (U_L)" in /Units, for lengths without h

#include <string>

#include "core/hdf5/hdf5.hpp"
#include "histogram/particles/particle_file.hpp"

namespace cosmo::histogram {

class Hdf5Particles : public ParticleFile {
 public:
  explicit Hdf5Particles(const std::filesystem::path& path);

  /// Whether the positions are those of other files.
  bool refers_to_others() const;

  std::size_t float_bytes(std::size_t type) const override;
  void read_positions(std::size_t type, std::uint64_t first, std::span<float> positions) const override;
  void read_positions(std::size_t type, std::uint64_t first, std::span<double> positions) const override;
  bool has_positions(std::size_t type) const override;
  bool has_masses(std::size_t type) const override;
  void read_masses(std::size_t type, std::uint64_t first, std::span<double> masses) const override;

 private:
  template <class T>
  void read_rows(std::size_t type, std::uint64_t first, std::span<T> positions) const;

  std::string masses_of(std::size_t type) const;
  bool has_other_masses(std::size_t type) const;
  void check_masses();

  std::string path_;
  core::hdf5::File file_;
};

}  // namespace cosmo::histogram
