#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/buffer.hpp"
#include "core/grid.hpp"
#include "core/parallel/communicator.hpp"

namespace cosmo::sim {

/// The cell of a grid that contains coordinate x in [0, L), given cells/L as a float. A product that rounds
/// up to the grid's end belongs to the last cell.
inline int cell_of(float x, float inverse_cell, int cells) {
  const int cell = static_cast<int>(x * inverse_cell);
  return cell < cells ? cell : cells - 1;
}

/// The particles of this rank as columns of (size(), 3) floats, in no particular order. After the last one there is room
/// for another float, so that vectors can be read as four.
///
/// x: position in [0, L) [Mpc/h]; p: momentum a² dx/dt / H0 [Mpc/h], during a run what the Stepper keeps in its
/// place; psi1, psi2: first- and second-order Lagrangian displacements today, x = q + D1 psi1 + D2 psi2
/// [Mpc/h].
class ParticleSet {
 public:
  ParticleSet() = default;
  /// Values are not initialised. There is room for `spare` more particles.
  explicit ParticleSet(std::size_t size, std::size_t spare = 0) {
    reserve(size + spare);
    size_ = size;
  }
  /// Room for travellers from other ranks. It is ample, because what is not used takes no memory, and columns that grow are in
  /// memory twice.
  static std::size_t spare(std::size_t size, int ranks) { return ranks > 1 ? size : 0; }
  /// Particles that have only positions: their other columns are empty.
  static ParticleSet at(std::span<const float> x);

  std::size_t size() const { return size_; }
  /// Number of particles that fit in the allocated memory.
  std::size_t capacity() const { return columns_[kX].size() / 3; }
  std::span<float> x() { return column(kX); }
  std::span<float> p() { return column(kP); }
  std::span<float> psi1() { return column(kPsi1); }
  std::span<float> psi2() { return column(kPsi2); }
  std::span<const float> x() const { return column(kX); }
  std::span<const float> p() const { return column(kP); }
  std::span<const float> psi1() const { return column(kPsi1); }
  std::span<const float> psi2() const { return column(kPsi2); }

  /// The columns that a step reads, for prefetching; those not in use are replaced by x.
  std::array<const float*, 4> touched() const {
    const auto column = [this](Column c) { return columns_[in_use_[c] ? c : kX].data(); };
    return {column(kX), column(kP), column(kPsi1), column(kPsi2)};
  }

  /// IDs of the particles, if number() was called: particles keep them when they move to other ranks.
  std::span<const std::uint64_t> ids() const { return {ids_.data(), has_ids_ ? size_ : 0}; }
  /// Numbers the particles from `first` on.
  void number(std::uint64_t first);

  /// Lets x and p take the memory and the values of psi1 and psi2, which are then empty.
  void reuse_displacements();

  /// Saves x, and p if `momenta`, until restore(), even if particles move to other ranks meanwhile.
  void keep(bool momenta);
  void restore();

  /// Sends every particle to the rank whose slab of `grid` contains its x, at any distance. Collective.
  void move_to_owners(const core::Communicator& comm, const core::GridSpec& grid);

 private:
  enum Column : std::size_t { kX, kP, kPsi1, kPsi2, kKeptX, kKeptP, kColumns };

  std::span<float> column(Column c) { return {columns_[c].data(), in_use_[c] ? 3 * size_ : 0}; }
  std::span<const float> column(Column c) const { return {columns_[c].data(), in_use_[c] ? 3 * size_ : 0}; }
  /// Replaces column `to` by `from`, which is then empty.
  void replace(Column to, Column from);
  /// Enlarges the columns.
  void reserve(std::size_t capacity);
  /// Keeps the first min(size(), size) particles.
  void resize(std::size_t size);
  void copy(std::size_t from, std::size_t to);
  std::size_t record_floats() const;
  void pack(std::size_t i, float* record) const;
  void unpack(std::size_t i, const float* record);

  std::array<core::Buffer<float>, kColumns> columns_;  ///< (capacity(), 3) floats each, if in use
  std::array<bool, kColumns> in_use_ = {true, true, true, true, false, false};  ///< the same on all ranks
  core::Buffer<std::uint64_t> ids_;
  bool has_ids_ = false;
  std::size_t size_ = 0;
};

}  // namespace cosmo::sim
