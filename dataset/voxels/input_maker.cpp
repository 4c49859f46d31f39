#include "dataset/voxels/input_maker.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>

#include "dataset/voxels/look_up.hpp"

namespace cosmo::dataset {

namespace {

FieldMap in_floats(Curve curve, const VoxelMap& map) {
  return {curve, static_cast<float>(map.offset), static_cast<float>(map.scale)};
}

}  // namespace

std::variant<VoxelTable, InputMaker::FieldMaps> InputMaker::map_of(const VoxelTransform& transform) {
  if (transform.kind == VoxelKind::counts && transform.smoothing == 0) return VoxelTable(transform);
  const Curve curve =
      transform_is_for(transform.name, VoxelKind::field) ? curve_of(transform.name) : Curve::none;
  FieldMaps maps;
  for (const VoxelMap& map : transform.maps) maps.push_back(in_floats(curve, map));
  return maps;
}

InputMaker::InputMaker(const VoxelTransform& transform, std::size_t channel)
    : needs_sample_(needs_whole_sample(transform)),
      velocity_(static_cast<float>(transform.velocity)),
      relative_(transform.smoothing > 0 && divides_by_mean(transform.name)),
      channel_(channel),
      map_(map_of(transform)),
      tides_map_(in_floats(Curve::none, transform.tides_map)) {
  if (auto* table = std::get_if<VoxelTable>(&map_); table && !needs_sample_) table_ = table->for_sample({});
  const auto side = static_cast<int>(std::lround(std::cbrt(static_cast<double>(channel))));
  if (transform.smoothing > 0) low_pass_.emplace(transform.smoothing, side);
  if (transform.tides > 0) tides_.emplace(transform.tides, side);
  if (transform.reconstruction > 0) reconstruction_.emplace(transform.reconstruction, side);
}

std::size_t InputMaker::memory_bytes(const VoxelTransform& transform, std::size_t elements) {
  const std::size_t beside =
      (transform.reconstruction > 0 ? IterativeReconstruction::memory_bytes(elements) : 0) +
      (transform.tides > 0 ? TidalEigenvalues::memory_bytes(elements) : 0);
  if (transform.smoothing > 0) return elements * sizeof(float) + beside;
  return (transform.kind == VoxelKind::counts ? VoxelTable::kBytes : 0) + beside;
}

template <class T>
void InputMaker::begin(std::span<const T> sample) {
  if (low_pass_)
    smooth(sample);
  else if constexpr (std::is_same_v<T, std::uint16_t>)
    table_ = std::get<VoxelTable>(map_).for_sample(sample);
}

template <class T>
void InputMaker::smooth(std::span<const T> sample) {
  smoothed_.resize(sample.size());
  low_pass_->apply(sample, std::span(smoothed_));
  if (!relative_) return;
  const double sum = std::accumulate(sample.begin(), sample.end(), 0.0);
  if (sum == 0) return;
  const auto factor = static_cast<float>(static_cast<double>(sample.size()) / sum);
  for (float& value : smoothed_) value *= factor;
}

template <class T>
void InputMaker::make_part(std::span<const T> part, std::span<float> input, std::size_t first) const {
  if (low_pass_) {
    map_part(std::span(smoothed_).subspan(first, part.size()), input, first);
  } else if constexpr (std::is_same_v<T, std::uint16_t>) {
    look_up(table_, part, input);
    end_look_up();
  } else {
    map_part(part, input, first);
  }
}

void InputMaker::map_part(std::span<const float> part, std::span<float> input, std::size_t first) const {
  const FieldMaps& maps = std::get<FieldMaps>(map_);
  if (maps.size() == 1) return maps.front().apply(part, input.data());
  for (std::size_t done = 0; done < part.size();) {
    const std::size_t at = first + done, left = channel_ - at % channel_;
    const std::span<const float> of_channel = part.subspan(done, std::min(left, part.size() - done));
    maps[at / channel_].apply(of_channel, input.data() + done);
    done += of_channel.size();
  }
}

template <class T>
void InputMaker::make_part(const Symmetry& symmetry, const Box& box, std::span<const T> part,
                           std::span<float> input, std::size_t first) const {
  if (low_pass_)
    map_part(symmetry, box, std::span(smoothed_).subspan(first * channel_, part.size()), input, first);
  else if constexpr (std::is_same_v<T, std::uint16_t>)
    transform_voxels(symmetry, box, table_, part, input);
  else
    map_part(symmetry, box, part, input, first);
}

void InputMaker::map_part(const Symmetry& symmetry, const Box& box, std::span<const float> part,
                          std::span<float> input, std::size_t first) const {
  const FieldMaps& maps = std::get<FieldMaps>(map_);
  if (maps.size() == 1) return transform_voxels(symmetry, box, maps.front(), part, input);
  const std::size_t size = box.voxels();
  for (std::size_t done = 0; done < part.size(); done += size)
    transform_voxels(symmetry, box, maps[first++], part.subspan(done, size), input.subspan(done, size));
}

void InputMaker::make_velocity(const Symmetry& symmetry, std::span<const float> velocity,
                               std::span<float> input) const {
  const auto side = static_cast<int>(std::lround(std::cbrt(static_cast<double>(channel_))));
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const FieldMap map{Curve::none, 0, symmetry.flipped[axis] ? -velocity_ : velocity_};
    const auto along = static_cast<std::size_t>(symmetry.axes[axis]);
    transform_voxels(symmetry, side, map, velocity.subspan(along * channel_, channel_),
                     input.subspan(axis * channel_, channel_));
  }
}

template <class T>
void InputMaker::make_beside(const Symmetry& symmetry, std::span<const T> sample, std::span<float> input) {
  const auto turn = [&](int side, const FieldMap& map, std::span<const float> channels, std::span<float> to) {
    transform_voxels(symmetry, side, map, channels, to);
  };
  if (tides_) {
    const std::size_t first = velocity_ > 0 ? 3 * channel_ : 0;
    turn(tides_->side(), tides_map_, tides_->apply(sample.first(channel_)),
         input.subspan(first, 3 * channel_));
  }
  if (reconstruction_)
    turn(reconstruction_->side(), {Curve::none, 0, 1}, reconstruction_->apply(sample.first(channel_)),
         input.last(channel_));
}

template void InputMaker::begin(std::span<const std::uint16_t>);
template void InputMaker::begin(std::span<const float>);
template void InputMaker::make_part(std::span<const std::uint16_t>, std::span<float>, std::size_t) const;
template void InputMaker::make_beside(const Symmetry&, std::span<const std::uint16_t>, std::span<float>);
template void InputMaker::make_beside(const Symmetry&, std::span<const float>, std::span<float>);
template void InputMaker::make_part(std::span<const float>, std::span<float>, std::size_t) const;
template void InputMaker::make_part(const Symmetry&, const Box&, std::span<const std::uint16_t>,
                                    std::span<float>, std::size_t) const;
template void InputMaker::make_part(const Symmetry&, const Box&, std::span<const float>, std::span<float>,
                                    std::size_t) const;

}  // namespace cosmo::dataset
