#include "dataset/split_reader.hpp"

#include <algorithm>
#include <utility>

#include "core/error.hpp"

namespace cosmo::dataset {

using core::ensure;
using core::Fault;

namespace {
constexpr std::size_t kMostOpen = 128;  ///< below every system's limit of open files
}

SplitReader::SplitReader(std::filesystem::path directory, const DatasetManifest& manifest, Split split,
                         int rank, int ranks)
    : directory_(std::move(directory)), spec_(manifest.spec), shards_(manifest.split(split).shards) {
  const SplitRecord& record = manifest.split(split);
  for (std::size_t s = 0; s < shards_.size(); ++s) {
    if (static_cast<int>(s % static_cast<std::size_t>(ranks)) == rank) {
      core::check_content(directory_, *manifest.base.find(shards_[s]));
    }
    const ShardReader& shard = open(s);
    firsts_.push_back(size());
    for (std::size_t row = 0; row < shard.size(); ++row) {
      const auto target = shard.target(row);
      samples_.push_back(shard.sample(row));
      targets_.insert(targets_.end(), target.begin(), target.end());
      ensure(std::find(record.simulations.begin(), record.simulations.end(), samples_.back().simulation) !=
                 record.simulations.end(),
             Fault::format, "{} holds simulation {}, which is no {} data: restore the file.",
             (directory_ / shards_[s]).string(), samples_.back().simulation, name_of(split));
    }
  }
  ensure(size() == record.samples, Fault::format,
         "{}: the {} shards hold {} samples and the manifest says {}.", directory_.string(), name_of(split),
         size(), record.samples);
}

std::span<const float> SplitReader::target(std::uint32_t index) const {
  const std::size_t parameters = spec_.parameters.size();
  return std::span(targets_).subspan(index * parameters, parameters);
}

const ShardReader& SplitReader::open(std::size_t number) {
  const auto found = std::find_if(open_.begin(), open_.end(),
                                  [&](const OpenShard& shard) { return shard.number == number; });
  if (found != open_.end()) return found->reader;
  if (open_.size() == kMostOpen) open_.pop_front();
  return open_.emplace_back(OpenShard{number, ShardReader(directory_ / shards_[number], spec_)}).reader;
}

void SplitReader::read(std::uint32_t index, std::span<std::uint16_t> counts) {
  const auto next = std::upper_bound(firsts_.begin(), firsts_.end(), index);
  const auto shard = static_cast<std::size_t>(next - firsts_.begin()) - 1;
  open(shard).read(index - firsts_[shard], counts);
}

}  // namespace cosmo::dataset
