#pragma once
// The communication between the ranks that share a sample.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/parallel/communicator.hpp"
#include "nn/cut/cut_plan.hpp"

namespace cosmo::nn {

/// Fetches the planes of a tensor that a rank sees, and gives back their gradient. Tensors are (images, planes,
/// values of a plane) of T: float or core::Bfloat16. Both are collective over the group.
class PlaneExchange {
 public:
  PlaneExchange(const Fetch& fetch, int rank, std::int64_t images, std::int64_t plane);

  /// Number of T that an exchange needs as working memory.
  std::int64_t scratch() const { return (sent_ + received_) * images_ * plane_; }
  /// Puts together what this rank sees from what the ranks own. What this rank owns may be a part of what it sees, for
  /// one image, if that has no plane twice; likewise with gradients.
  template <class T>
  void fetch(const core::Communicator& group, const T* own, T* seen, T* scratch) const;
  /// The gradient of what this rank owns: the sum over all ranks that see it, in their order, this one first; if all see
  /// the whole tensor, this one's.
  template <class T>
  void give_back(const core::Communicator& group, const T* d_seen, T* d_own, T* scratch) const;

 private:
  /// Planes of all images on their way to or from another rank: behind `start` planes of each image for the ranks before
  /// it.
  struct Parcel {
    int rank;
    int start, count;
  };
  /// A plane on its way: those of a transfer lie image by image behind those of the transfers before it.
  struct Packed {
    int start;  ///< planes of an image in the transfers before
    int count;  ///< planes in the transfer
    int plane;  ///< the plane in the transfer
  };
  /// What a plane of d_own is the sum of.
  struct Terms {
    std::vector<int> seen;         ///< planes of d_seen
    std::vector<Packed> received;  ///< planes that come from others
  };

  /// Adds a transfer to the parcels, to or from `other`.
  static void pack(std::vector<Parcel>& parcels, const Transfer& transfer, int other);
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
  std::int64_t images_, plane_;
  int owned_, seen_;             ///< planes of this rank's tensors
  int sent_ = 0, received_ = 0;  ///< planes of an image that fetching sends and receives
  std::vector<Transfer> own_, to_others_, from_others_;  ///< the latter two in the order of the other rank
  std::vector<Parcel> parcels_to_, parcels_from_;        ///< the same by the other rank
  std::vector<int> zeros_;                               ///< planes of what it sees that no rank has
  std::vector<Terms> terms_;                             ///< by plane of d_own
};

}  // namespace cosmo::nn
