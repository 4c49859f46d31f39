#include "dataset/data_loader.hpp"

#include <algorithm>
#include <numeric>

#include "core/error.hpp"
#include "dataset/augmentation.hpp"
#include "dataset/sample_order.hpp"

namespace cosmo::dataset {

using core::ensure;
using core::Fault;

namespace {

const LoaderConfig& validated(const LoaderConfig& config) {
  validate(config);
  return config;
}

}  // namespace

void validate(const LoaderConfig& config) {
  ensure(config.micro_batch > 0 && config.global_batch > 0 &&
             config.global_batch % (std::int64_t{config.ranks} * config.micro_batch) == 0,
         Fault::config, "--global-batch {} is no multiple of --micro-batch {} × {} ranks: change one of the three.",
         config.global_batch, config.micro_batch, config.ranks);
}

DataLoader::DataLoader(SplitReader& reader, const VoxelTransform& transform, const LoaderConfig& config)
    : reader_(reader), config_(validated(config)), table_(transform), counts_(reader.spec().voxels()) {
  const auto rows = static_cast<std::size_t>(config_.micro_batch);
  voxels_ = core::Buffer<float>(rows * reader.spec().voxels());
  targets_.resize(rows * reader.spec().parameters.size());
  samples_.reserve(rows);
}

std::uint32_t DataLoader::steps_per_epoch() const {
  const auto step = static_cast<std::uint32_t>(config_.global_batch);
  return (reader_.size() + step - 1) / step;
}

void DataLoader::start_epoch(std::uint32_t epoch) {
  epoch_ = epoch;
  step_ = 0;
  batch_in_step_ = 0;
  if (config_.shuffle) {
    order_ = sample_order(config_.seed, epoch, reader_.size());
  } else {
    order_.resize(reader_.size());
    std::iota(order_.begin(), order_.end(), 0u);
  }
}

std::optional<Batch> DataLoader::next() {
  const std::size_t step_begin = std::size_t{step_} * static_cast<std::size_t>(config_.global_batch);
  if (step_begin >= order_.size()) return std::nullopt;
  const std::size_t step_end =
      std::min(order_.size(), step_begin + static_cast<std::size_t>(config_.global_batch));
  const auto of_rank = static_cast<std::size_t>(config_.rank * (config_.global_batch / config_.ranks) +
                                                batch_in_step_ * config_.micro_batch);
  const std::size_t begin = std::min(step_end, step_begin + of_rank);
  const std::size_t end = std::min(step_end, begin + static_cast<std::size_t>(config_.micro_batch));
  samples_.assign(order_.begin() + static_cast<std::ptrdiff_t>(begin),
                  order_.begin() + static_cast<std::ptrdiff_t>(end));
  for (std::size_t row = 0; row < samples_.size(); ++row) load(samples_[row], row);
  const std::size_t parameters = reader_.spec().parameters.size();
  std::fill(voxels_.span().begin() + static_cast<std::ptrdiff_t>(samples_.size() * counts_.size()),
            voxels_.span().end(), 0.0f);
  std::fill(targets_.begin() + static_cast<std::ptrdiff_t>(samples_.size() * parameters), targets_.end(),
            0.0f);

  const int batches = config_.global_batch / (config_.ranks * config_.micro_batch);
  const bool last = ++batch_in_step_ == batches;
  if (last) {
    batch_in_step_ = 0;
    ++step_;
  }
  return Batch{voxels_.span(),
               targets_,
               static_cast<int>(samples_.size()),
               samples_,
               static_cast<int>(step_end - step_begin),
               last};
}

void DataLoader::load(std::uint32_t sample, std::size_t row) {
  reader_.read(sample, counts_.span());
  const bool turned = config_.shuffle && config_.augment;
  const Symmetry symmetry = turned ? choose_symmetry(config_.seed, epoch_, sample) : Symmetry{};
  transform_voxels(symmetry, reader_.spec().side(), table_.for_sample(counts_.span()), counts_.span(),
                   voxels_.span().subspan(row * counts_.size(), counts_.size()));
  const auto target = reader_.target(sample);
  std::copy(target.begin(), target.end(),
            targets_.begin() + static_cast<std::ptrdiff_t>(row * target.size()));
}

}  // namespace cosmo::dataset
