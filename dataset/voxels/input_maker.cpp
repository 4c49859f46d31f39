#include "dataset/voxels/input_maker.hpp"

#include <algorithm>
#include <type_traits>

#include "dataset/voxels/look_up.hpp"

namespace cosmo::dataset {

namespace {

std::variant<VoxelTable, AffineMap> map_of(const VoxelTransform& transform) {
  if (kind_of(transform) == VoxelKind::counts) return VoxelTable(transform);
  return AffineMap{static_cast<float>(transform.offset), static_cast<float>(transform.scale)};
}

}  // namespace

InputMaker::InputMaker(const VoxelTransform& transform)
    : needs_sample_(needs_whole_sample(transform)), map_(map_of(transform)) {
  if (auto* table = std::get_if<VoxelTable>(&map_); table && !needs_sample_) table_ = table->for_sample({});
}

std::size_t InputMaker::memory_bytes(VoxelKind kind) {
  return kind == VoxelKind::counts ? VoxelTable::kBytes : 0;
}

template <class T>
void InputMaker::begin(std::span<const T> sample) {
  if constexpr (std::is_same_v<T, std::uint16_t>) table_ = std::get<VoxelTable>(map_).for_sample(sample);
}

template <class T>
void InputMaker::make_part(std::span<const T> part, std::span<float> input) const {
  if constexpr (std::is_same_v<T, std::uint16_t>) {
    look_up(table_, part, input);
    end_look_up();
  } else {
    std::ranges::transform(part, input.begin(), std::get<AffineMap>(map_));
  }
}

template <class T>
void InputMaker::make_part(const Symmetry& symmetry, const Box& box, std::span<const T> part,
                           std::span<float> input) const {
  if constexpr (std::is_same_v<T, std::uint16_t>)
    transform_voxels(symmetry, box, table_, part, input);
  else
    transform_voxels(symmetry, box, std::get<AffineMap>(map_), part, input);
}

template void InputMaker::begin(std::span<const std::uint16_t>);
template void InputMaker::begin(std::span<const float>);
template void InputMaker::make_part(std::span<const std::uint16_t>, std::span<float>) const;
template void InputMaker::make_part(std::span<const float>, std::span<float>) const;
template void InputMaker::make_part(const Symmetry&, const Box&, std::span<const std::uint16_t>,
                                    std::span<float>) const;
template void InputMaker::make_part(const Symmetry&, const Box&, std::span<const float>,
                                    std::span<float>) const;

}  // namespace cosmo::dataset
