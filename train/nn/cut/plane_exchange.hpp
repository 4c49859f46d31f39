#pragma once
// The communication between the ranks that work on one sample.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/parallel/communicator.hpp"
#include "train/nn/cut/cut_plan.hpp"

namespace cosmo::nn {

/// Fetches the planes of a tensor that a rank sees, and gives back their gradient. Tensors are (images, planes,
/// values of a plane) of T: float or core::Bfloat16. Every call is collective over the group.
class PlaneExchange {
 public:
  PlaneExchange(const Fetch& fetch, int rank, std::int64_t images, std::int64_t plane);

  /// Number of T that each call needs as working memory.
  std::int64_t scratch() const { return (sent_ + received_) * images_ * plane_; }
  /// Puts together what this rank sees from what the ranks own. What this rank owns may be a part of what it sees, for
  /// one image, if that has no plane twice; likewise in give_back().
  template <class T>
  void fetch(const core::Communicator& group, const T* own, T* seen, T* scratch) const;
  /// The gradient of what this rank owns: the sum over all ranks that see it, in the order of the ranks, those of this
  /// rank first; if each sees the whole tensor, this rank's own.
  template <class T>
  void give_back(const core::Communicator& group, const T* d_seen, T* d_own, T* scratch) const;

 private:
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

  std::int64_t at(std::int64_t image, std::int64_t planes, std::int64_t first) const {
    return (image * planes + first) * plane_;
  }
  std::int64_t at(std::int64_t image, const Packed& packed) const {
    return (images_ * packed.start + image * packed.count + packed.plane) * plane_;
  }
  /// Planes of all images that go to each rank, or come from it.
  std::vector<int> counts(const std::vector<Piece>& pieces, int Piece::*other) const;
  template <class T>
  void copy(int count, const T* from, std::int64_t from_image, T* to, std::int64_t to_image) const;
  template <class T>
  void sum(const T* d_seen, const T* received, T* d_own) const;

  int ranks_;
  bool whole_;
  std::int64_t images_, plane_;
  int owned_, seen_;                                  ///< planes of this rank's tensors
  int sent_ = 0, received_ = 0;                       ///< planes of an image that fetch() sends and receives
  std::vector<Piece> own_, to_others_, from_others_;  ///< the latter two in the order of the other rank
  std::vector<int> zeros_;                            ///< planes of what it sees that no rank has
  std::vector<Terms> terms_;                          ///< by plane of d_own
};

}  // namespace cosmo::nn
