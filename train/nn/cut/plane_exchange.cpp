#include "train/nn/cut/plane_exchange.hpp"

#include <algorithm>

#include "core/bfloat16.hpp"

namespace cosmo::nn {

PlaneExchange::PlaneExchange(const Fetch& fetch, int rank, std::int64_t images, std::int64_t plane)
    : ranks_(static_cast<int>(fetch.owned.size())),
      whole_(fetch.whole),
      images_(images),
      plane_(plane),
      owned_(fetch.owned[static_cast<std::size_t>(rank)].size()),
      seen_(fetch.seen[static_cast<std::size_t>(rank)].size()),
      terms_(static_cast<std::size_t>(owned_)) {
  std::vector<bool> found(static_cast<std::size_t>(seen_));
  const auto add_terms = [&](const Piece& piece, const auto& add) {
    for (int i = 0; i < piece.count; ++i) add(terms_[static_cast<std::size_t>(piece.source + i)], i);
  };
  for (const Piece& piece : pieces_of(fetch)) {
    if (piece.to == rank) {
      std::fill_n(found.begin() + piece.target, piece.count, true);
      (piece.from == rank ? own_ : from_others_).push_back(piece);
      received_ += piece.from == rank ? 0 : piece.count;
    } else if (piece.from == rank) {
      add_terms(piece, [&](Terms& terms, int i) { terms.received.push_back({sent_, piece.count, i}); });
      to_others_.push_back(piece);
      sent_ += piece.count;
    }
  }
  for (const Piece& piece : own_)
    add_terms(piece, [&](Terms& terms, int i) { terms.seen.push_back(piece.target + i); });
  if (whole_) {
    for (Terms& terms : terms_) terms.received.clear();
  }
  std::ranges::stable_sort(from_others_, {}, &Piece::from);
  for (int i = 0; i < seen_; ++i) {
    if (!found[static_cast<std::size_t>(i)]) zeros_.push_back(i);
  }
}

std::vector<int> PlaneExchange::counts(const std::vector<Piece>& pieces, int Piece::*other) const {
  std::vector<int> counts(static_cast<std::size_t>(ranks_));
  for (const Piece& piece : pieces)
    counts[static_cast<std::size_t>(piece.*other)] += static_cast<int>(images_) * piece.count;
  return counts;
}

/// Copies `count` planes of all images, whose first planes are `from_image` and `to_image` values apart.
template <class T>
void PlaneExchange::copy(int count, const T* from, std::int64_t from_image, T* to,
                         std::int64_t to_image) const {
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t image = 0; image < images_; ++image) {
    for (int i = 0; i < count; ++i)
      std::copy_n(from + image * from_image + i * plane_, plane_, to + image * to_image + i * plane_);
  }
}

template <class T>
void PlaneExchange::fetch(const core::Communicator& group, const T* own, T* seen, T* scratch) const {
  const std::int64_t owned_image = owned_ * plane_, seen_image = seen_ * plane_;
  T *const sent = scratch, *const received = scratch + sent_ * images_ * plane_;
  T* packed = sent;
  for (const Piece& piece : to_others_) {
    copy(piece.count, own + piece.source * plane_, owned_image, packed, piece.count * plane_);
    packed += images_ * piece.count * plane_;
  }
  for (const Piece& piece : own_) {
    const T* const from = own + piece.source * plane_;
    T* const to = seen + piece.target * plane_;
    if (from != to) copy(piece.count, from, owned_image, to, seen_image);
  }
  for (std::int64_t image = 0; image < images_; ++image) {
    for (const int plane : zeros_) std::fill_n(seen + at(image, seen_, plane), plane_, T());
  }
  group.all_to_all(sent, counts(to_others_, &Piece::to), received, counts(from_others_, &Piece::from),
                   static_cast<std::size_t>(plane_));
  const T* next = received;
  for (const Piece& piece : from_others_) {
    copy(piece.count, next, piece.count * plane_, seen + piece.target * plane_, seen_image);
    next += images_ * piece.count * plane_;
  }
}

template <class T>
void PlaneExchange::give_back(const core::Communicator& group, const T* d_seen, T* d_own, T* scratch) const {
  T *const received = scratch, *const sent = scratch + sent_ * images_ * plane_;  // the other way round
  if (!whole_) {
    T* packed = sent;
    for (const Piece& piece : from_others_) {
      copy(piece.count, d_seen + piece.target * plane_, seen_ * plane_, packed, piece.count * plane_);
      packed += images_ * piece.count * plane_;
    }
    group.all_to_all(sent, counts(from_others_, &Piece::from), received, counts(to_others_, &Piece::to),
                     static_cast<std::size_t>(plane_));
  }
  sum(d_seen, received, d_own);
}

template <class T>
void PlaneExchange::sum(const T* d_seen, const T* received, T* d_own) const {
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t image = 0; image < images_; ++image) {
    for (int plane = 0; plane < owned_; ++plane) {
      T* const to = d_own + at(image, owned_, plane);
      bool first = true;
      const auto add = [&](const T* from) {
        if (first) {
          if (from != to) std::copy_n(from, plane_, to);
        } else {
#pragma omp simd
          for (std::int64_t i = 0; i < plane_; ++i)
            to[i] = T(static_cast<float>(to[i]) + static_cast<float>(from[i]));
        }
        first = false;
      };
      const Terms& terms = terms_[static_cast<std::size_t>(plane)];
      for (const int seen : terms.seen) add(d_seen + at(image, seen_, seen));
      for (const Packed& packed : terms.received) add(received + at(image, packed));
      if (first) std::fill_n(to, plane_, T());
    }
  }
}

template void PlaneExchange::fetch<float>(const core::Communicator&, const float*, float*, float*) const;
template void PlaneExchange::fetch<core::Bfloat16>(const core::Communicator&, const core::Bfloat16*,
                                                   core::Bfloat16*, core::Bfloat16*) const;
template void PlaneExchange::give_back<float>(const core::Communicator&, const float*, float*, float*) const;
template void PlaneExchange::give_back<core::Bfloat16>(const core::Communicator&, const core::Bfloat16*,
                                                       core::Bfloat16*, core::Bfloat16*) const;

}  // namespace cosmo::nn
