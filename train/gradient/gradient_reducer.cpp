#include "train/gradient/gradient_reducer.hpp"

#include <algorithm>
#include <bit>
#include <chrono>

namespace cosmo::train {

namespace {

/// Intervals at which the thread checks whether all ranks are ready, while training computes and while it
/// waits. Each check costs the computation a few microseconds.
constexpr std::chrono::microseconds kNap{500}, kShortNap{20};

constexpr std::size_t kSumBlock =
    4096;  // values that are added from several sums: they fit the first-level cache

}  // namespace

GradientReducer::GradientReducer(const core::Communicator& comm, std::span<float> gradients,
                                 int micro_batches_per_step, WireFormat wire, SumOrder order,
                                 int ranks_per_sample)
    : lane_(comm.split(0)),
      sum_(lane_, wire, order == SumOrder::reproducible ? ranks_per_sample : 1),
      gradients_(gradients),
      micro_batches_(micro_batches_per_step),
      order_(order),
      cutter_(gradients) {
  for (int sum = 0; sum < kept_sums(micro_batches_per_step, order); ++sum)
    sums_.emplace_back(gradients.size());
  if (comm.size() > 1) thread_ = std::thread([this] { reduce_buckets(); });
}

GradientReducer::~GradientReducer() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
  if (in_step_) lane_.abandon();
}

int GradientReducer::kept_sums(int micro_batches_per_step, SumOrder order) {
  if (micro_batches_per_step == 1) return 0;
  return order == SumOrder::reproducible ? std::countr_zero(static_cast<unsigned>(micro_batches_per_step))
                                         : 1;
}

/// Adds the sum of the earlier deliveries to a part, and keeps the result.
void GradientReducer::accumulate(std::span<float> part, int delivery) {
  float* const kept = sums_.front().data() + (part.data() - gradients_.data());
  const bool first = delivery == 1;
#pragma omp parallel for simd schedule(static)
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (!first) part[i] += kept[i];
    kept[i] = part[i];
  }
}

/// The same as a counter in binary: a part is added to the sum of as many deliveries as it stands for, and stands for
/// both, until there is no such sum; then it is kept. The last delivery of the step stands for all.
void GradientReducer::accumulate_in_tree(std::span<float> part, int delivery) {
  const auto before = static_cast<unsigned>(delivery - 1);
  const auto level = static_cast<std::size_t>(std::countr_one(before));
  const auto at = static_cast<std::size_t>(part.data() - gradients_.data());
#pragma omp parallel for schedule(static)
  for (std::size_t first = 0; first < part.size(); first += kSumBlock) {
    const std::size_t size = std::min(kSumBlock, part.size() - first);
    float* const sum = part.data() + first;
    for (std::size_t l = 0; l < level; ++l) {
      const float* const kept = sums_[l].data() + at + first;
#pragma omp simd
      for (std::size_t i = 0; i < size; ++i) sum[i] += kept[i];
    }
    if (level < sums_.size()) std::copy_n(sum, size, sums_[level].data() + at + first);
  }
}

void GradientReducer::ready(std::span<float> part) {
  in_step_ = true;
  const int delivery = ++deliveries_[part.data()];
  if (micro_batches_ > 1)
    order_ == SumOrder::reproducible ? accumulate_in_tree(part, delivery) : accumulate(part, delivery);
  if (!thread_.joinable() || delivery < micro_batches_) return;
  const auto bucket = cutter_.add(part);
  if (!bucket) return;
  {
    const std::lock_guard lock(mutex_);
    buckets_.push_back(*bucket);
  }
  changed_.notify_all();
}

void GradientReducer::finish() {
  for (auto& [part, count] : deliveries_) count = 0;
  if (!thread_.joinable()) return;
  cutter_.restart();
  std::unique_lock lock(mutex_);
  const double exposed_before = times_.exposed;
  finish_began_ = clock_.seconds();
  changed_.notify_all();
  changed_.wait(lock, [this] { return reduced_ == buckets_.size() || failure_; });
  if (failure_) std::rethrow_exception(failure_);
  times_.waiting += clock_.seconds() - *finish_began_ - (times_.exposed - exposed_before);
  finish_began_.reset();
  buckets_.clear();
  reduced_ = 0;
  in_step_ = false;
}

/// Waits until all ranks have the next bucket ready and returns true; returns false if this rank stops. The
/// thread sleeps meanwhile: a core that spins in a reduction because another rank is late does not compute.
bool GradientReducer::wait_for_ranks(std::unique_lock<std::mutex>& lock) {
  core::Arrival arrival = lane_.arrive();
  while (!arrival.complete()) {
    if (stopping_) return false;
    changed_.wait_for(lock, finish_began_ ? kShortNap : kNap);
  }
  return true;
}

/// The thread's loop.
void GradientReducer::reduce_buckets() {
  std::unique_lock lock(mutex_);
  try {
    for (;;) {
      changed_.wait(lock, [this] { return stopping_ || reduced_ < buckets_.size(); });
      if (stopping_ || !wait_for_ranks(lock)) return;
      const std::span<float> bucket = buckets_[reduced_];
      lock.unlock();
      const double start = clock_.seconds();
      sum_(bucket);
      const double end = clock_.seconds();
      lock.lock();
      times_.reducing += end - start;
      if (finish_began_) times_.exposed += std::max(0.0, end - std::max(start, *finish_began_));
      ++reduced_;
      changed_.notify_all();
    }
  } catch (...) {
    if (!lock.owns_lock()) lock.lock();
    failure_ = std::current_exception();
    changed_.notify_all();
  }
}

}  // namespace cosmo::train
