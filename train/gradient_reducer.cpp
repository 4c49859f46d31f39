#include "train/gradient_reducer.hpp"

namespace cosmo::train {

GradientReducer::GradientReducer(const core::Communicator& comm, std::span<float> gradients,
                                 int micro_batches_per_step)
    : comm_(comm),
      gradients_(gradients),
      micro_batches_(micro_batches_per_step),
      accumulated_(micro_batches_per_step > 1 ? gradients.size() : 0) {}

void GradientReducer::ready(std::span<float> part) {
  if (micro_batches_ == 1) return;
  float* const accumulated = accumulated_.data() + (part.data() - gradients_.data());
  const bool first = micro_batch_ == 0;
#pragma omp parallel for simd schedule(static)
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (!first) part[i] += accumulated[i];
    accumulated[i] = part[i];
  }
}

void GradientReducer::finish() {
  if (++micro_batch_ < micro_batches_) return;
  micro_batch_ = 0;
  if (comm_.size() > 1) comm_.sum(gradients_);
}

}  // namespace cosmo::train
