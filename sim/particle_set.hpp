#pragma once

#include <cstddef>
#include <span>

#include "core/buffer.hpp"
#include "core/communicator.hpp"
#include "core/grid.hpp"

namespace cosmo::sim {

/// The cell of a grid that holds coordinate x in [0, L), given cells/L in float. A product that rounds up to
/// the grid's end belongs to its last cell.
inline int cell_of(float x, float inverse_cell, int cells) {
  const int cell = static_cast<int>(x * inverse_cell);
  return cell < cells ? cell : cells - 1;
}

/// The particles of this rank as columns of (size(), 3) floats, in no particular order.
///
/// x: position in [0, L) [Mpc/h]; p: momentum a² dx/dt / H0 [Mpc/h], during a COLA run only the part that LPT
/// does not have; psi1, psi2: first and second order Lagrangian displacements today, x = q + D1 psi1 + D2
/// psi2 [Mpc/h].
class ParticleSet {
 public:
  ParticleSet() = default;
  /// Values are not initialised.
  explicit ParticleSet(std::size_t size) { resize(size); }

  std::size_t size() const { return size_; }
  std::span<float> x() { return {columns_[0].data(), 3 * size_}; }
  std::span<float> p() { return {columns_[1].data(), 3 * size_}; }
  std::span<float> psi1() { return {columns_[2].data(), 3 * size_}; }
  std::span<float> psi2() { return {columns_[3].data(), 3 * size_}; }
  std::span<const float> x() const { return {columns_[0].data(), 3 * size_}; }
  std::span<const float> p() const { return {columns_[1].data(), 3 * size_}; }
  std::span<const float> psi1() const { return {columns_[2].data(), 3 * size_}; }
  std::span<const float> psi2() const { return {columns_[3].data(), 3 * size_}; }

  /// Sends every particle to the rank whose slab of `grid` contains its x, however far that is. Collective.
  void move_to_owners(const core::Communicator& comm, const core::GridSpec& grid);

 private:
  static constexpr std::size_t kColumns = 4;

  /// Keeps the first min(size(), size) particles.
  void resize(std::size_t size);

  core::Buffer<float> columns_[kColumns];  ///< x, p, psi1, psi2; room for more than size_
  std::size_t size_ = 0;
};

}  // namespace cosmo::sim
