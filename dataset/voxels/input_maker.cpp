#include "dataset/voxels/input_maker.hpp"

#include <algorithm>
#include <type_traits>

#include "dataset/voxels/look_up.hpp"

namespace cosmo::dataset {

std::variant<VoxelTable, InputMaker::FieldMaps> InputMaker::map_of(const VoxelTransform& transform) {
  if (transform.kind == VoxelKind::counts) return VoxelTable(transform);
  const Curve curve = curve_of(transform.name);
  FieldMaps maps;
  for (const VoxelMap& map : transform.maps)
    maps.push_back({curve, static_cast<float>(map.offset), static_cast<float>(map.scale)});
  return maps;
}

InputMaker::InputMaker(const VoxelTransform& transform, std::size_t channel)
    : needs_sample_(needs_whole_sample(transform)), channel_(channel), map_(map_of(transform)) {
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
void InputMaker::make_part(std::span<const T> part, std::span<float> input, std::size_t first) const {
  if constexpr (std::is_same_v<T, std::uint16_t>) {
    look_up(table_, part, input);
    end_look_up();
  } else {
    const FieldMaps& maps = std::get<FieldMaps>(map_);
    if (maps.size() == 1) return maps.front().apply(part, input.data());
    for (std::size_t done = 0; done < part.size();) {
      const std::size_t at = first + done, left = channel_ - at % channel_;
      const std::span<const float> of_channel = part.subspan(done, std::min(left, part.size() - done));
      maps[at / channel_].apply(of_channel, input.data() + done);
      done += of_channel.size();
    }
  }
}

template <class T>
void InputMaker::make_part(const Symmetry& symmetry, const Box& box, std::span<const T> part,
                           std::span<float> input, std::size_t first) const {
  if constexpr (std::is_same_v<T, std::uint16_t>) {
    transform_voxels(symmetry, box, table_, part, input);
  } else {
    const FieldMaps& maps = std::get<FieldMaps>(map_);
    if (maps.size() == 1) return transform_voxels(symmetry, box, maps.front(), part, input);
    const std::size_t size = box.voxels();
    for (std::size_t done = 0; done < part.size(); done += size)
      transform_voxels(symmetry, box, maps[first++], part.subspan(done, size), input.subspan(done, size));
  }
}

template void InputMaker::begin(std::span<const std::uint16_t>);
template void InputMaker::begin(std::span<const float>);
template void InputMaker::make_part(std::span<const std::uint16_t>, std::span<float>, std::size_t) const;
template void InputMaker::make_part(std::span<const float>, std::span<float>, std::size_t) const;
template void InputMaker::make_part(const Symmetry&, const Box&, std::span<const std::uint16_t>,
                                    std::span<float>, std::size_t) const;
template void InputMaker::make_part(const Symmetry&, const Box&, std::span<const float>, std::span<float>,
                                    std::size_t) const;

}  // namespace cosmo::dataset
