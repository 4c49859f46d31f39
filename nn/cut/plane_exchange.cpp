#include "nn/cut/plane_exchange.hpp"

#include <algorithm>

#include "core/bfloat16.hpp"

namespace cosmo::nn {

PlaneExchange::PlaneExchange(const Fetch& fetch, int slab, std::int64_t images, std::int64_t plane)
    : whole_(fetch.whole),
      rank_(fetch.rank_of(slab)),
      images_(images),
      plane_(plane),
      owned_(fetch.owned[static_cast<std::size_t>(slab)].size()),
      seen_(fetch.seen[static_cast<std::size_t>(slab)].size()),
      terms_(static_cast<std::size_t>(owned_)) {
  std::vector<bool> found(static_cast<std::size_t>(seen_));
  const auto add_terms = [&](const Piece& piece, const auto& add) {
    for (int i = 0; i < piece.count; ++i) add(terms_[static_cast<std::size_t>(piece.source + i)], i);
  };
  for (const Piece& piece : pieces_of(fetch)) {
    if (piece.to == slab) {
      std::fill_n(found.begin() + piece.target, piece.count, true);
      (piece.from == slab ? own_ : from_others_).push_back(piece);
    } else if (piece.from == slab) {
      if (!whole_ || fetch.rank_of(piece.to) == rank_)
        add_terms(piece, [&](Terms& terms, int i) { terms.received.push_back({sent_, piece.count, i}); });
      pack(parcels_to_, fetch, piece, piece.to);
      to_others_.push_back(piece);
      sent_ += piece.count;
    }
  }
  for (const Piece& piece : own_)
    add_terms(piece, [&](Terms& terms, int i) { terms.seen.push_back(piece.target + i); });
  std::ranges::stable_sort(from_others_, {}, &Piece::from);
  for (const Piece& piece : from_others_) {
    pack(parcels_from_, fetch, piece, piece.from);
    received_ += piece.count;
  }
  for (int i = 0; i < seen_; ++i) {
    if (!found[static_cast<std::size_t>(i)]) zeros_.push_back(i);
  }
}

void PlaneExchange::pack(std::vector<Parcel>& parcels, const Fetch& fetch, const Piece& piece,
                         int other) const {
  const int rank = fetch.rank_of(other);
  const int tag = message_tag(piece.from, piece.to, fetch.slabs_per_rank);
  if (parcels.empty() || parcels.back().rank != rank || parcels.back().tag != tag) {
    const int start = parcels.empty() ? 0 : parcels.back().start + parcels.back().count;
    parcels.push_back({rank, tag, message_tag(piece.to, piece.from, fetch.slabs_per_rank), start, 0});
  }
  parcels.back().count += piece.count;
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
void PlaneExchange::begin_fetch(const core::Communicator& group, core::Messages& messages, const T* own,
                                T* seen, T* scratch) const {
  const std::int64_t owned_image = owned_ * plane_, seen_image = seen_ * plane_;
  T *const sent = scratch, *const received = scratch + sent_ * images_ * plane_;
  for (const Parcel& parcel : parcels_from_)
    messages.receive(group, values_of(parcel, received), parcel.rank, parcel.tag);
  T* packed = sent;
  for (const Piece& piece : to_others_) {
    copy(piece.count, own + piece.source * plane_, owned_image, packed, piece.count * plane_);
    packed += images_ * piece.count * plane_;
  }
  for (const Parcel& parcel : parcels_to_)
    messages.send(group, std::span<const T>(values_of(parcel, sent)), parcel.rank, parcel.tag);
  for (const Piece& piece : own_) {
    const T* const from = own + piece.source * plane_;
    T* const to = seen + piece.target * plane_;
    if (from != to) copy(piece.count, from, owned_image, to, seen_image);
  }
  for (std::int64_t image = 0; image < images_; ++image) {
    for (const int plane : zeros_) std::fill_n(seen + at(image, seen_, plane), plane_, T());
  }
}

template <class T>
void PlaneExchange::end_fetch(core::Messages& messages, T* seen, const T* scratch) const {
  messages.wait();
  const T* next = scratch + sent_ * images_ * plane_;
  for (const Piece& piece : from_others_) {
    copy(piece.count, next, piece.count * plane_, seen + piece.target * plane_, seen_ * plane_);
    next += images_ * piece.count * plane_;
  }
}

template <class T>
void PlaneExchange::begin_give_back(const core::Communicator& group, core::Messages& messages,
                                    const T* d_seen, T* scratch) const {
  T *const received = scratch, *const sent = scratch + sent_ * images_ * plane_;  // the other way round
  const auto goes_back = [&](const Parcel& parcel) { return !whole_ || parcel.rank == rank_; };
  for (const Parcel& parcel : parcels_to_) {
    if (goes_back(parcel)) messages.receive(group, values_of(parcel, received), parcel.rank, parcel.tag_back);
  }
  T* packed = sent;
  for (const Piece& piece : from_others_) {
    copy(piece.count, d_seen + piece.target * plane_, seen_ * plane_, packed, piece.count * plane_);
    packed += images_ * piece.count * plane_;
  }
  for (const Parcel& parcel : parcels_from_) {
    if (goes_back(parcel))
      messages.send(group, std::span<const T>(values_of(parcel, sent)), parcel.rank, parcel.tag_back);
  }
}

template <class T>
void PlaneExchange::end_give_back(core::Messages& messages, const T* d_seen, T* d_own,
                                  const T* scratch) const {
  messages.wait();
  sum(d_seen, scratch, d_own);
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

template void PlaneExchange::begin_fetch<float>(const core::Communicator&, core::Messages&, const float*,
                                                float*, float*) const;
template void PlaneExchange::end_fetch<float>(core::Messages&, float*, const float*) const;
template void PlaneExchange::begin_give_back<float>(const core::Communicator&, core::Messages&, const float*,
                                                    float*) const;
template void PlaneExchange::end_give_back<float>(core::Messages&, const float*, float*, const float*) const;
template void PlaneExchange::begin_fetch<core::Bfloat16>(const core::Communicator&, core::Messages&,
                                                         const core::Bfloat16*, core::Bfloat16*,
                                                         core::Bfloat16*) const;
template void PlaneExchange::end_fetch<core::Bfloat16>(core::Messages&, core::Bfloat16*,
                                                       const core::Bfloat16*) const;
template void PlaneExchange::begin_give_back<core::Bfloat16>(const core::Communicator&, core::Messages&,
                                                             const core::Bfloat16*, core::Bfloat16*) const;
template void PlaneExchange::end_give_back<core::Bfloat16>(core::Messages&, const core::Bfloat16*,
                                                           core::Bfloat16*, const core::Bfloat16*) const;

}  // namespace cosmo::nn
