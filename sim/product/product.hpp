#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/fourier/power_spectrum.hpp"
#include "core/universe/simulation_manifest.hpp"
#include "sim/linear/linear_power.hpp"
#include "sim/product/universe_files.hpp"
#include "sim/simulation.hpp"

namespace cosmo::sim {

/// What the cost of products depends on.
struct Extent {
  const SimulationConfig& config;
  int voxels;  ///< per side of products on voxels

  std::uint64_t particles() const { return config.box.lattice(1).cells(); }
  std::uint64_t redshifts() const { return config.outputs.redshifts.size(); }
};

/// Makes a product of one universe while that is simulated. Every member is collective over the universe's group. Derived
/// classes have what a row of kProducts needs as static members.
class Maker {
 public:
  explicit Maker(UniverseFiles& files) : files_(files) {}
  virtual ~Maker() = default;
  Maker(const Maker&) = delete;
  Maker& operator=(const Maker&) = delete;

  /// The initial field's spectrum at D1 = 1 and the one it was drawn from, if the product needs spectra.
  virtual void see_initial(const fourier::PowerSpectrum&, const LinearPower&) {}
  /// The modes of the initial field at D1 = 1, on the particles' lattice, if the product needs it.
  virtual void see_field(const fourier::FourierMesh&) {}
  /// Each output before it is moved to redshift space (Observers::real_space), if the product needs it.
  virtual void see_real(const Output&) {}
  /// Each output, the earliest first.
  virtual void see(const Output&) {}
  /// Called after the last output.
  virtual void finish() {}

  static std::uint64_t memory_bytes(const Extent&, int, int) { return 0; }

 protected:
  UniverseFiles& files() { return files_; }

 private:
  UniverseFiles& files_;
};

/// One kind of file that universes have.
struct Product {
  std::string_view name;
  std::string_view meaning;
  std::string_view key;    ///< name in the request's configuration, where it is true if the product is made
  bool old = false;        ///< requests without it have its key, too, as those of the first version
  bool implied = false;    ///< made unless "no-" and its name is among those of --save
  bool on_voxels = false;  ///< has the voxels of --grid
  bool in_packs = false;   ///< can be part of a pack of universes
  Contents needs = {};     ///< what outputs must have besides positions
  /// Enters its paths, which begin with `folder`, in a record that has the redshifts.
  void (*name_files)(core::SimulationRecord& record, const std::string& folder) = nullptr;
  std::uint64_t (*disk_bytes)(const Extent& extent) = nullptr;  ///< size of its files of one universe [bytes]
  /// Memory that a rank takes to make it of an output, when `ranks` with `threads` each share the universe [bytes].
  std::uint64_t (*memory_bytes)(const Extent& extent, int ranks, int threads) = nullptr;
  std::unique_ptr<Maker> (*make)(UniverseFiles& files) = nullptr;
};

/// The product with what its maker does.
template <class T>
constexpr Product made_by(Product product) {
  product.name_files = &T::name_files;
  product.disk_bytes = &T::disk_bytes;
  product.memory_bytes = &T::memory_bytes;
  product.make = [](UniverseFiles& files) -> std::unique_ptr<Maker> { return std::make_unique<T>(files); };
  return product;
}

}  // namespace cosmo::sim
