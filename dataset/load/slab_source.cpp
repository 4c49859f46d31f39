#include "dataset/load/slab_source.hpp"

#include <algorithm>

namespace cosmo::dataset {

using core::Slab;

namespace {

/// Without planes that are zeros.
Slab stored(const Slab& slab, bool periodic, int side) {
  return periodic ? slab : Slab{std::max(slab.first, 0), std::min(slab.last, side)};
}

/// Number of planes of a sample that a rank has.
int planes_of(const SlabShare& share, std::size_t rank, int side) {
  return stored(share.slabs[rank], share.periodic, side).size();
}

int own_planes(const SlabShare& share, int side) {
  return planes_of(share, static_cast<std::size_t>(share.rank), side);
}

/// The planes of x that a rank reads for all ranks.
Slab read_by(const SlabShare& share, std::size_t rank, int side) {
  return core::slab_of(side, static_cast<int>(rank), static_cast<int>(share.slabs.size()));
}

/// Copies planes of an axis with `extent` cells from (outer, extent, inner); returns where the copy ends.
template <class T>
T* copy_planes(const T* from, std::size_t outer, int extent, std::size_t inner,
               std::span<const PlaneRun> runs, T* to) {
  for (std::size_t o = 0; o < outer; ++o, from += static_cast<std::size_t>(extent) * inner) {
    for (const auto [first, count] : runs)
      to = std::copy_n(from + static_cast<std::size_t>(first) * inner,
                       static_cast<std::size_t>(count) * inner, to);
  }
  return to;
}

}  // namespace

std::vector<PlaneRun> stored_planes(const Slab& slab, bool periodic, int side, bool flipped, int shift) {
  const auto [first, last] = stored(slab, periodic, side);
  std::vector<PlaneRun> runs;
  for (int i = 0; i < last - first; ++i) {
    const int rolled = flipped ? side - last + i : first + i;
    const int plane = core::wrapped(rolled - shift, side);
    if (!runs.empty() && runs.back().first + runs.back().count == plane)
      ++runs.back().count;
    else
      runs.push_back({plane, 1});
  }
  return runs;
}

SlabSource::Sizes SlabSource::sizes(const SampleSpec& spec, const SlabShare& share, bool augmented,
                                    bool roll) {
  const int side = spec.side();
  const std::size_t plane = spec.input.voxels() / static_cast<std::size_t>(side);
  const auto planes = [&](int count) { return plane * static_cast<std::size_t>(count); };
  const std::size_t own_voxels = planes(own_planes(share, side));
  if (share.whole) return {spec.input.voxels(), own_voxels, augmented && roll ? own_voxels : 0};
  if (!augmented) return {0, own_voxels, 0};
  const int read = read_by(share, static_cast<std::size_t>(share.rank), side).size();
  int sent = 0;
  for (std::size_t rank = 0; rank < share.slabs.size(); ++rank) sent += planes_of(share, rank, side);
  const std::size_t packed = planes(read) / static_cast<std::size_t>(side) * static_cast<std::size_t>(sent);
  return {0, std::max(own_voxels, planes(read)), std::max(packed, roll ? own_voxels : 0)};
}

SlabSource::SlabSource(const SampleSpec& spec, const SlabShare& share, bool augmented, bool roll,
                       const core::Communicator* group)
    : spec_(spec), share_(share), group_(group) {
  const Sizes voxels = sizes(spec, share, augmented, roll);
  const std::size_t bytes = spec.input.bytes() / spec.input.voxels();
  whole_ = core::Buffer<std::byte>(voxels.whole * bytes);
  part_ = core::Buffer<std::byte>(voxels.part * bytes);
  packed_ = core::Buffer<std::byte>(voxels.packed * bytes);
}

std::size_t SlabSource::memory_bytes(const SampleSpec& spec, const SlabShare& share, bool augmented,
                                     bool roll) {
  const Sizes voxels = sizes(spec, share, augmented, roll);
  return (voxels.whole + voxels.part + voxels.packed) * (spec.input.bytes() / spec.input.voxels());
}

/// Sends each rank what it needs of the planes of x that this one has read, and receives its own planes of `axis`.
template <class T>
void SlabSource::exchange(std::size_t axis, bool flipped, int shift) {
  const int side = spec_.side();
  const auto n = static_cast<std::size_t>(side), channels = static_cast<std::size_t>(spec_.input.channels());
  const std::size_t ranks = share_.slabs.size();
  const auto mine =
      static_cast<std::size_t>(read_by(share_, static_cast<std::size_t>(share_.rank), side).size());
  T *const part = reinterpret_cast<T*>(part_.data()), *const packed = reinterpret_cast<T*>(packed_.data());
  std::vector<std::vector<PlaneRun>> needed;
  std::vector<int> send_counts, receive_counts;
  const int width = own_planes(share_, side);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    needed.push_back(stored_planes(share_.slabs[rank], share_.periodic, side, flipped, shift));
    send_counts.push_back(static_cast<int>(mine) * planes_of(share_, rank, side));
    receive_counts.push_back(read_by(share_, rank, side).size() * width);
  }
  const std::size_t outer = axis == 1 ? mine : mine * n, inner = axis == 1 ? n : 1;
  T* to = packed;
  for (std::size_t channel = 0; channel < channels; ++channel) {
    for (const auto& runs : needed)
      to = copy_planes(part + channel * mine * n * n, outer, side, inner, runs, to);
  }
  const std::size_t sent = static_cast<std::size_t>(to - packed) / channels;
  for (std::size_t channel = 0; channel < channels; ++channel) {
    group_->all_to_all(packed + channel * sent, send_counts,
                       part + channel * n * n * static_cast<std::size_t>(width), receive_counts, n);
  }
}

template <class T>
StoredPart<T> SlabSource::read(SplitReader& source, core::hdf5::ChunkReader& chunks, std::uint32_t sample,
                               const Symmetry& symmetry, std::array<int, 3> shift, std::uint64_t& bytes) {
  const int side = spec_.side();
  const auto n = static_cast<std::size_t>(side), axis = static_cast<std::size_t>(symmetry.axes[0]);
  const std::vector<PlaneRun> own_runs =
      stored_planes(share_.own(), share_.periodic, side, symmetry.flipped[0], shift[axis]);
  Box box(side);
  box[axis] = own_planes(share_, side);
  const std::size_t voxels = static_cast<std::size_t>(spec_.input.channels()) * box.voxels();
  T *const part = reinterpret_cast<T*>(part_.data()), *const rolled = reinterpret_cast<T*>(packed_.data());
  const auto read_planes = [&](std::span<const PlaneRun> runs) {
    std::vector<int> planes;
    for (const auto [first, count] : runs) {
      for (int i = 0; i < count; ++i) planes.push_back(first + i);
    }
    const std::size_t size = static_cast<std::size_t>(spec_.input.channels()) * planes.size() * n * n;
    source.read_planes(sample, chunks, planes, std::as_writable_bytes(std::span(part, size)));
    bytes += size * sizeof(T);
  };
  if (share_.whole) {
    const std::span whole(reinterpret_cast<T*>(whole_.data()), spec_.input.voxels());
    if (source.is_plain())
      source.read_stored(sample, chunks, std::as_writable_bytes(whole));
    else
      source.read(sample, whole);
    bytes += source.stored_bytes(sample);
    const std::size_t inner = axis == 0 ? n * n : axis == 1 ? n : 1;
    copy_planes(whole.data(), spec_.input.voxels() / n / inner, side, inner, own_runs, part);
  } else if (axis == 0) {
    read_planes(own_runs);
  } else {
    std::exception_ptr damaged;  // the others wait for this rank
    const Slab mine = read_by(share_, static_cast<std::size_t>(share_.rank), side);
    try {
      read_planes(std::array{PlaneRun{mine.first, mine.size()}});
    } catch (...) {
      damaged = std::current_exception();
    }
    exchange<T>(axis, symmetry.flipped[0], shift[axis]);
    if (damaged) std::rethrow_exception(damaged);
  }
  shift[axis] = 0;
  if (shift == std::array<int, 3>{}) return {{part, voxels}, box};
  roll<T>(shift, box, {part, voxels}, {rolled, voxels});
  return {{rolled, voxels}, box};
}

template StoredPart<std::uint16_t> SlabSource::read<std::uint16_t>(SplitReader&, core::hdf5::ChunkReader&,
                                                                   std::uint32_t, const Symmetry&,
                                                                   std::array<int, 3>, std::uint64_t&);
template StoredPart<float> SlabSource::read<float>(SplitReader&, core::hdf5::ChunkReader&, std::uint32_t,
                                                   const Symmetry&, std::array<int, 3>, std::uint64_t&);

}  // namespace cosmo::dataset
