#include "dataset/shard/shard_tensor.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "core/error.hpp"
#include "core/file/checksum.hpp"
#include "dataset/quantity/target.hpp"

namespace cosmo::dataset {

using core::ensure;
using core::Fault;
using core::hdf5::Dataset;
using core::hdf5::File;
using core::hdf5::Shape;

namespace {

Dataset create_voxels(File& file, const TensorNames& names, const Quantity& quantity, std::size_t samples,
                      bool deflated) {
  const Shape shape = quantity.stored_shape(samples);
  const core::hdf5::Storage storage{quantity.stored_shape(1), deflated};
  if (quantity.kind == VoxelKind::field) return file.create_dataset<float>(names.voxels, shape, storage);
  if (quantity.kind == VoxelKind::classes)
    return file.create_dataset<std::uint8_t>(names.voxels, shape, storage);
  return file.create_dataset<std::uint16_t>(names.voxels, shape, storage);
}

Shape start_in(const Quantity& quantity, std::size_t row) {
  Shape start(quantity.shape.size() + 1, 0);
  start[0] = row;
  return start;
}

template <class T>
bool holds(const Quantity& quantity) {  // HDF5 would convert
  return (quantity.kind != VoxelKind::counts) == std::is_same_v<T, float>;
}

}  // namespace

TensorWriter::TensorWriter(File& file, const TensorNames& names, Quantity quantity, std::size_t samples,
                           bool deflated)
    : names_(names),
      quantity_(std::move(quantity)),
      voxels_(create_voxels(file, names, quantity_, samples, deflated)) {}

template <class T>
void TensorWriter::append(std::size_t row, std::span<const T> voxels) {
  ensure(holds<T>(quantity_), Fault::internal, "/{} holds another kind of voxels than are written.",
         names_.voxels);
  const auto write = [&]<class S>(std::span<const S> stored) {
    voxels_.write(start_in(quantity_, row), quantity_.stored_shape(1), stored);
    add_checksums(std::as_bytes(stored));
  };
  if (quantity_.kind != VoxelKind::classes) return write(voxels);
  const std::vector<std::uint8_t> classes(voxels.begin(), voxels.end());
  write(std::span(classes));
}

void TensorWriter::add_checksums(std::span<const std::byte> voxels) {
  const std::size_t plane = voxels.size() / quantity_.planes();
  std::uint32_t all = core::crc32({});
  for (std::size_t first = 0; first < voxels.size(); first += plane) {
    plane_crc32_.push_back(core::crc32(voxels.subspan(first, plane)));
    all = core::crc32_joined(all, plane_crc32_.back(), plane);
  }
  crc32_.push_back(all);
}

void TensorWriter::write_checksums(File& file) const {
  file.write(names_.crc32, {crc32_.size()}, std::span<const std::uint32_t>(crc32_));
  file.write(names_.plane_crc32, quantity_.plane_shape(crc32_.size()),
             std::span<const std::uint32_t>(plane_crc32_));
}

template void TensorWriter::append(std::size_t, std::span<const std::uint16_t>);
template void TensorWriter::append(std::size_t, std::span<const float>);

void check_voxels(const std::filesystem::path& shard, std::size_t row, std::uint32_t noted,
                  std::uint32_t found) {
  ensure(found == noted, Fault::format,
         "{} sample {} differs from its crc32: the file is damaged, restore it or run cosmo-prep again "
         "with --force.",
         shard.string(), row);
}

TensorReader::TensorReader(std::filesystem::path path, const File& file, const TensorNames& names,
                           Quantity quantity)
    : path_(std::move(path)),
      names_(names),
      quantity_(std::move(quantity)),
      voxels_(file.dataset(names.voxels)) {
  const std::size_t size = voxels_.shape().empty() ? 0 : voxels_.shape().front();
  constexpr std::size_t kMostSamples = 1 << 20;
  ensure(size > 0 && size <= kMostSamples, Fault::format, "{} has {} samples: restore the file.",
         path_.string(), size);
  const core::hdf5::Shape shape = quantity_.stored_shape(size);
  switch (quantity_.kind) {
    case VoxelKind::counts:
      voxels_.require<std::uint16_t>(shape);
      break;
    case VoxelKind::field:
      voxels_.require<float>(shape);
      break;
    case VoxelKind::classes:
      voxels_.require<std::uint8_t>(shape);
      break;
  }
}

void TensorReader::read_checksums(const File& file, bool has_planes) {
  crc32_ = file.read<std::uint32_t>(names_.crc32, {size()});
  if (!has_planes) return;
  plane_crc32_ = file.read<std::uint32_t>(names_.plane_crc32, quantity_.plane_shape(size()));
  const std::size_t bytes = quantity_.bytes() / quantity_.planes();
  for (std::size_t row = 0; row < size(); ++row) {
    std::uint32_t all = core::crc32({});
    for (const std::uint32_t plane : plane_crc32(row)) all = core::crc32_joined(all, plane, bytes);
    ensure(all == crc32_[row], Fault::format,
           "{} sample {} has checksums of planes that are not those of its {}: restore the file.",
           path_.string(), row, names_.crc32);
  }
}

std::span<const std::uint32_t> TensorReader::plane_crc32(std::size_t row) const {
  const std::size_t planes = plane_crc32_.size() / size();
  return std::span(plane_crc32_).subspan(row * planes, planes);
}

Shape TensorReader::start_of(std::size_t row) const { return start_in(quantity_, row); }

template <class T>
void TensorReader::read(std::size_t row, std::span<T> voxels) const {
  ensure(holds<T>(quantity_), Fault::internal, "{} /{} holds another kind of voxels than are read.",
         path_.string(), names_.voxels);
  if (quantity_.kind == VoxelKind::classes) {
    std::vector<std::uint8_t> classes(voxels.size());
    read_stored(row, std::span(classes));
    std::ranges::copy(classes, voxels.begin());
  } else {
    read_stored(row, voxels);
  }
}

template <class S>
void TensorReader::read_stored(std::size_t row, std::span<S> voxels) const {
  voxels_.read(start_of(row), quantity_.stored_shape(1), voxels);
  check_voxels(path_, row, crc32_[row], core::crc32(std::as_bytes(voxels)));
  if constexpr (std::is_same_v<S, std::uint8_t>)
    check_classes(std::span<const S>(voxels), fmt::format("{} sample {}", path_.string(), row));
}

void TensorReader::read(std::size_t row, std::span<std::byte> voxels) const {
  const auto as = [&]<class S>(S* values) { read_stored(row, std::span(values, voxels.size() / sizeof(S))); };
  if (quantity_.kind == VoxelKind::field) return as(reinterpret_cast<float*>(voxels.data()));
  if (quantity_.kind == VoxelKind::classes) return as(reinterpret_cast<std::uint8_t*>(voxels.data()));
  as(reinterpret_cast<std::uint16_t*>(voxels.data()));
}

template void TensorReader::read(std::size_t, std::span<std::uint16_t>) const;
template void TensorReader::read(std::size_t, std::span<float>) const;

std::optional<StoredVoxels> TensorReader::stored(std::size_t row) const {
  const auto chunk = voxels_.chunk(start_of(row), quantity_.stored_shape(1));
  return chunk ? std::optional(StoredVoxels{*chunk, crc32_[row]}) : std::nullopt;
}

}  // namespace cosmo::dataset
