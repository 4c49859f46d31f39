#pragma once
// The communication between the slabs of one sample.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/parallel/communicator.hpp"
#include "nn/cut/cut_plan.hpp"

namespace cosmo::nn {

/// The number of messages from a slab to another of those between their ranks.
inline int message_tag(int from, int to, int slabs_per_rank) {
  return from % slabs_per_rank * slabs_per_rank + to % slabs_per_rank;
}

/// Fetches the planes of a tensor that a slab sees, and gives back their gradient. Tensors are (images, planes,
/// values of a plane) of T: float or core::Bfloat16. All slabs of all ranks in the group must begin each exchange; a rank
/// begins it for all its slabs before it ends it for any.
class PlaneExchange {
 public:
  PlaneExchange(const Fetch& fetch, int slab, std::int64_t images, std::int64_t plane);

  /// Number of T that each exchange needs as working memory, from its begin to its end.
  std::int64_t scratch() const { return (sent_ + received_) * images_ * plane_; }
  /// Puts together what this slab sees from what the slabs own. What this slab owns may be a part of what it sees, for
  /// one image, if that has no plane twice; likewise with gradients.
  template <class T>
  void begin_fetch(const core::Communicator& group, core::Messages& messages, const T* own, T* seen,
                   T* scratch) const;
  template <class T>
  void end_fetch(core::Messages& messages, T* seen, const T* scratch) const;
  /// The gradient of what this slab owns: the sum over all slabs that see it, in their order, this one first; if ranks
  /// see the whole tensor, that of this slab's rank.
  template <class T>
  void begin_give_back(const core::Communicator& group, core::Messages& messages, const T* d_seen,
                       T* scratch) const;
  template <class T>
  void end_give_back(core::Messages& messages, const T* d_seen, T* d_own, const T* scratch) const;

 private:
  /// Planes of all images on their way to or from another slab: behind `start` planes of each image for the slabs before
  /// it.
  struct Parcel {
    int rank;           ///< the other slab's
    int tag, tag_back;  ///< when it is fetched, and given back
    int start, count;
  };
  /// Planes of all images on their way: those of a piece lie image by image behind those of the pieces before it.
  struct Packed {
    int start;  ///< planes of an image in the pieces before
    int count;  ///< planes in the piece
    int plane;  ///< the plane in the piece
  };
  /// What a plane of d_own is the sum of.
  struct Terms {
    std::vector<int> seen;         ///< planes of d_seen
    std::vector<Packed> received;  ///< planes that come from others
  };

  /// Adds a piece to the parcels, to or from `other`.
  void pack(std::vector<Parcel>& parcels, const Fetch& fetch, const Piece& piece, int other) const;
  std::int64_t at(std::int64_t image, std::int64_t planes, std::int64_t first) const {
    return (image * planes + first) * plane_;
  }
  std::int64_t at(std::int64_t image, const Packed& packed) const {
    return (images_ * packed.start + image * packed.count + packed.plane) * plane_;
  }
  template <class T>
  void copy(int count, const T* from, std::int64_t from_image, T* to, std::int64_t to_image) const;
  /// The values of a parcel in a buffer that begins with the first parcel.
  template <class T>
  std::span<T> values_of(const Parcel& parcel, T* buffer) const {
    return {buffer + images_ * parcel.start * plane_,
            static_cast<std::size_t>(images_ * parcel.count * plane_)};
  }
  template <class T>
  void sum(const T* d_seen, const T* received, T* d_own) const;

  bool whole_;
  int rank_;
  std::int64_t images_, plane_;
  int owned_, seen_;                                  ///< planes of this slab's tensors
  int sent_ = 0, received_ = 0;                       ///< planes of an image that fetching sends and receives
  std::vector<Piece> own_, to_others_, from_others_;  ///< the latter two in the order of the other slab
  std::vector<Parcel> parcels_to_, parcels_from_;     ///< the same by the other slab
  std::vector<int> zeros_;                            ///< planes of what it sees that no slab has
  std::vector<Terms> terms_;                          ///< by plane of d_own
};

}  // namespace cosmo::nn
