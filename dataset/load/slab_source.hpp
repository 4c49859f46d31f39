#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "core/parallel/communicator.hpp"
#include "dataset/load/slab.hpp"
#include "dataset/load/split_reader.hpp"
#include "dataset/voxels/augmentation.hpp"

namespace cosmo::dataset {

/// Planes first to first + count - 1.
struct PlaneRun {
  int first, count;

  bool operator==(const PlaneRun&) const = default;
};

/// Voxels as stored, of every channel, that a symmetry turns into a slab.
template <class T>
struct StoredPart {
  std::span<const T> voxels;  ///< (channels, box)
  Box box;
};

/// What a rank needs of samples. It reads its planes along x of each, and gets the rest, of samples of which a symmetry
/// turns another axis into x, from the ranks that share the sample.
class SlabSource {
 public:
  /// `augmented`: whether samples are turned; `group`: then, the ranks that share samples, for this source alone. Both
  /// the share and the group must outlive it.
  SlabSource(const SampleSpec& spec, const SlabShare& share, bool augmented, bool roll,
             const core::Communicator* group);
  static std::size_t memory_bytes(const SampleSpec& spec, const SlabShare& share, bool augmented, bool roll);

  /// Gets a sample's part for this symmetry, rolled by `shift` beforehand; valid until the next call. Collective over
  /// the group if the symmetry turns x, also if it throws because a sample is damaged. `bytes`: what is read is added.
  template <class T>
  StoredPart<T> read(SplitReader& source, core::hdf5::ChunkReader& chunks, std::uint32_t sample,
                     const Symmetry& symmetry, std::array<int, 3> shift, std::uint64_t& bytes);
  /// All voxels of the last sample, (channels, side, side, side), if whole samples are read; otherwise none.
  template <class T>
  std::span<const T> whole() const {
    return {reinterpret_cast<const T*>(whole_.data()), whole_.size() / sizeof(T)};
  }

 private:
  /// Voxels of the three working buffers.
  struct Sizes {
    std::size_t whole, part, packed;
  };
  static Sizes sizes(const SampleSpec& spec, const SlabShare& share, bool augmented, bool roll);
  template <class T>
  void exchange(std::size_t axis, bool flipped, int shift);

  const SampleSpec& spec_;
  const SlabShare& share_;
  const core::Communicator* group_;
  core::Buffer<std::byte> whole_, part_, packed_;
};

/// The stored planes, along the axis that becomes x, of which a slab of a turned sample is made, in their order along
/// that axis after a roll by `shift`. Outside of the sample are those of the opposite face or, unless it is periodic, none.
std::vector<PlaneRun> stored_planes(const core::Slab& slab, bool periodic, int side, bool flipped, int shift);

}  // namespace cosmo::dataset
