#include "nn/build/plane_exchange.hpp"

#include <algorithm>

#include "core/bfloat16.hpp"

namespace cosmo::nn {

PlaneExchange::PlaneExchange(const Fetch& fetch, int rank, std::int64_t images, std::int64_t plane)
    : whole_(fetch.whole),
      images_(images),
      plane_(plane),
      owned_(fetch.owned[static_cast<std::size_t>(rank)].size()),
      seen_(fetch.seen[static_cast<std::size_t>(rank)].size()),
      terms_(static_cast<std::size_t>(owned_)) {
  std::vector<bool> found(static_cast<std::size_t>(seen_));
  const auto add_terms = [&](const Transfer& transfer, const auto& add) {
    for (int i = 0; i < transfer.count; ++i) add(terms_[static_cast<std::size_t>(transfer.source + i)], i);
  };
  for (const Transfer& transfer : transfers_of(fetch)) {
    if (transfer.to == rank) {
      std::fill_n(found.begin() + transfer.target, transfer.count, true);
      (transfer.from == rank ? own_ : from_others_).push_back(transfer);
    } else if (transfer.from == rank) {
      if (!whole_)
        add_terms(transfer, [&](Terms& terms, int i) {
          terms.received.push_back({sent_, transfer.count, i});
        });
      pack(parcels_to_, transfer, transfer.to);
      to_others_.push_back(transfer);
      sent_ += transfer.count;
    }
  }
  for (const Transfer& transfer : own_)
    add_terms(transfer, [&](Terms& terms, int i) { terms.seen.push_back(transfer.target + i); });
  std::ranges::stable_sort(from_others_, {}, &Transfer::from);
  for (const Transfer& transfer : from_others_) {
    pack(parcels_from_, transfer, transfer.from);
    received_ += transfer.count;
  }
  for (int i = 0; i < seen_; ++i) {
    if (!found[static_cast<std::size_t>(i)]) zeros_.push_back(i);
  }
}

void PlaneExchange::pack(std::vector<Parcel>& parcels, const Transfer& transfer, int other) {
  if (parcels.empty() || parcels.back().rank != other) {
    const int start = parcels.empty() ? 0 : parcels.back().start + parcels.back().count;
    parcels.push_back({other, start, 0});
  }
  parcels.back().count += transfer.count;
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
  core::Messages messages;
  for (const Parcel& parcel : parcels_from_)
    messages.receive(group, values_of(parcel, received), parcel.rank);
  T* packed = sent;
  for (const Transfer& transfer : to_others_) {
    copy(transfer.count, own + transfer.source * plane_, owned_image, packed, transfer.count * plane_);
    packed += images_ * transfer.count * plane_;
  }
  for (const Parcel& parcel : parcels_to_)
    messages.send(group, std::span<const T>(values_of(parcel, sent)), parcel.rank);
  for (const Transfer& transfer : own_) {
    const T* const from = own + transfer.source * plane_;
    T* const to = seen + transfer.target * plane_;
    if (from != to) copy(transfer.count, from, owned_image, to, seen_image);
  }
  for (std::int64_t image = 0; image < images_; ++image) {
    for (const int plane : zeros_) std::fill_n(seen + at(image, seen_, plane), plane_, T());
  }
  messages.wait();
  const T* next = received;
  for (const Transfer& transfer : from_others_) {
    copy(transfer.count, next, transfer.count * plane_, seen + transfer.target * plane_, seen_image);
    next += images_ * transfer.count * plane_;
  }
}

template <class T>
void PlaneExchange::give_back(const core::Communicator& group, const T* d_seen, T* d_own, T* scratch) const {
  if (whole_) return sum<T>(d_seen, nullptr, d_own);
  T *const received = scratch, *const sent = scratch + sent_ * images_ * plane_;  // the other way round
  core::Messages messages;
  for (const Parcel& parcel : parcels_to_) messages.receive(group, values_of(parcel, received), parcel.rank);
  T* packed = sent;
  for (const Transfer& transfer : from_others_) {
    copy(transfer.count, d_seen + transfer.target * plane_, seen_ * plane_, packed, transfer.count * plane_);
    packed += images_ * transfer.count * plane_;
  }
  for (const Parcel& parcel : parcels_from_)
    messages.send(group, std::span<const T>(values_of(parcel, sent)), parcel.rank);
  messages.wait();
  sum<T>(d_seen, received, d_own);
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
