#include "train/gradient/gradient_buckets.hpp"

#include "core/error.hpp"

namespace cosmo::train {

namespace {

/// Least size of a bucket: below it, a reduction is mostly latency [floats].
constexpr std::ptrdiff_t kBucket = std::ptrdiff_t{1} << 18;

}  // namespace

GradientBuckets::GradientBuckets(std::span<float> arena)
    : arena_(arena), begin_(arena.data() + arena.size()), end_(begin_) {}

std::optional<std::span<float>> GradientBuckets::add(std::span<float> part) {
  core::ensure(part.data() + part.size() <= begin_, core::Fault::internal,
               "Gradients are not delivered in order from the end of the arena.");
  begin_ = part.data();
  if (begin_ != arena_.data() && end_ - begin_ < kBucket) return std::nullopt;
  const std::span<float> bucket(begin_, end_);
  end_ = begin_;
  return bucket;
}

void GradientBuckets::restart() {
  core::ensure(end_ == arena_.data(), core::Fault::internal, "A step lacks gradients.");
  begin_ = end_ = arena_.data() + arena_.size();
}

}  // namespace cosmo::train
