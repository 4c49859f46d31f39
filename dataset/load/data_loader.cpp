#include "dataset/load/data_loader.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <numeric>
#include <type_traits>

#include "core/error.hpp"
#include "core/parallel/parallel.hpp"
#include "core/timer.hpp"
#include "dataset/load/sample_order.hpp"
#include "dataset/quantity/target.hpp"

namespace cosmo::dataset {

using core::ensure;
using core::Fault;

namespace {

/// The elements from `first` on, at most `size` of them.
std::span<const std::uint32_t> part_of(std::span<const std::uint32_t> all, std::size_t first,
                                       std::size_t size) {
  const auto rest = all.subspan(std::min(first, all.size()));
  return rest.first(std::min(size, rest.size()));
}

/// Voxels of a network's input that are made of a whole sample.
std::size_t whole_input(const SampleSpec& spec, const VoxelTransform& transform) {
  return spec.input.voxels() + transform.channels_beside() * Box(spec.side()).voxels();
}

/// The same, or those of the planes of a share.
std::size_t input_values(const SampleSpec& spec, const VoxelTransform& transform,
                         const LoaderConfig& config) {
  const std::size_t whole = whole_input(spec, transform), side = static_cast<std::size_t>(spec.side());
  return config.share ? whole / side * static_cast<std::size_t>(config.share->own().size()) : whole;
}

std::size_t target_values(const SampleSpec& spec, const LoaderConfig& config) {
  if (!config.target) return spec.parameters.size();
  const std::size_t whole = spec.target->voxels(), side = static_cast<std::size_t>(spec.side());
  return config.share ? whole / side * static_cast<std::size_t>(config.share->target.size()) : whole;
}

/// Whether inputs and targets are made of whole samples and then cut: where they are made of all voxels, and fields.
bool cuts_what_is_made(const VoxelTransform& transform, const LoaderConfig& config) {
  return config.share && (config.target || transform.smoothing > 0 || transform.channels_beside() > 0);
}

/// Values of the larger of both; 0 if nothing is cut like this.
std::size_t uncut_values(const SampleSpec& spec, const VoxelTransform& transform,
                         const LoaderConfig& config) {
  if (!cuts_what_is_made(transform, config)) return 0;
  return std::max(whole_input(spec, transform), config.target ? spec.target->voxels() : 0);
}

/// The largest of a sample's tensors, as they are in memory. [bytes]
std::size_t tensor_bytes(const SampleSpec& spec, const VoxelTransform& transform,
                         const LoaderConfig& config) {
  return std::max({spec.input.bytes(), config.target ? spec.target->voxels() * sizeof(float) : 0,
                   transform.velocity > 0 ? spec.velocity->bytes() : 0});
}

/// A sample's classes as they are stored; nothing for other targets. [bytes]
std::size_t class_bytes(const SampleSpec& spec, const LoaderConfig& config) {
  return config.target && spec.target->kind == VoxelKind::classes ? spec.target->bytes() : 0;
}

/// The settings that the loader can follow: only HDF5 can read what is not plain, from one thread.
LoaderConfig validated(LoaderConfig config, const SplitReader& reader) {
  validate(config);
  if (!reader.is_plain()) config.readers = 0;
  if (config.share && !reader.has_planes()) config.share->whole = true;
  return config;
}

}  // namespace

void validate(const LoaderConfig& config) {
  ensure(config.micro_batch > 0 && config.global_batch > 0 &&
             config.global_batch % (std::int64_t{config.ranks} * config.micro_batch) == 0,
         Fault::config,
         "--global-batch {} is not a multiple of --micro-batch {} × {} ranks: change one of the three.",
         config.global_batch, config.micro_batch, config.ranks);
}

ReadStatistics& ReadStatistics::operator+=(const ReadStatistics& other) {
  waited += other.waited;
  reading += other.reading;
  bytes += other.bytes;
  return *this;
}

DataLoader::DataLoader(SplitReader& reader, const VoxelTransform& transform, const LoaderConfig& config,
                       std::span<const core::Communicator> groups)
    : source_(reader),
      transform_(transform),
      config_(validated(config, reader)),
      groups_(groups),
      slots_(slots_of(config_)),
      ahead_(
          config_.readers, slots_.size(),
          [this](std::size_t item, int thread) {
            const std::span readers(readers_);
            make(item, config_.readers == 0 ? readers : readers.subspan(static_cast<std::size_t>(thread), 1));
          },
          !groups.empty()) {
  const SampleSpec& spec = reader.spec();
  ensure(transform.kind == spec.input.kind, Fault::config,
         "The model reads {} and the dataset holds {}: give the kind of data it was trained on.",
         spec.input.kind == VoxelKind::counts ? "fields" : "counts",
         spec.input.kind == VoxelKind::counts ? "counts" : "fields");
  readers_.resize(reader.is_plain() ? makers_of(config_) : 1);
}

void DataLoader::allocate() {
  const SampleSpec& spec = source_.spec();
  const auto rows = static_cast<std::size_t>(config_.micro_batch);
  for (Slot& slot : slots_) {
    slot.voxels = core::Buffer<float>(rows * input_values(spec, transform_, config_));
    slot.targets = core::Buffer<float>(rows * target_values(spec, config_));
  }
  for (std::size_t r = 0; r < readers_.size(); ++r) {
    Reader& reader = readers_[r];
    const bool makes_slabs = config_.share && !cuts_what_is_made(transform_, config_);
    if (makes_slabs) {
      reader.slabs.emplace(spec, *config_.share, turns(), config_.roll,
                           groups_.empty() ? nullptr : &groups_[r]);
    } else {
      reader.voxels = core::Buffer<std::byte>(tensor_bytes(spec, transform_, config_));
      if (config_.roll) reader.rolled = core::Buffer<std::byte>(tensor_bytes(spec, transform_, config_));
      reader.classes = core::Buffer<std::byte>(class_bytes(spec, config_));
      reader.uncut = core::Buffer<float>(uncut_values(spec, transform_, config_));
    }
    reader.inputs.emplace(transform_, Box(spec.side()).voxels());
  }
}

void DataLoader::release() {
  for (Slot& slot : slots_) slot = {};
  const std::size_t readers = readers_.size();
  readers_.clear();
  readers_.resize(readers);
}

std::uint32_t DataLoader::steps_per_epoch() const {
  const auto step = static_cast<std::uint32_t>(config_.global_batch);
  return (samples() + step - 1) / step;
}

std::uint32_t DataLoader::samples() const {
  return config_.only.empty() ? std::min(config_.most, source_.size())
                              : static_cast<std::uint32_t>(config_.only.size());
}

std::size_t DataLoader::slots_of(const LoaderConfig& config) {
  return config.readers == 0 ? 1 : static_cast<std::size_t>(config.readers + 1 + config.spare);
}

std::size_t DataLoader::makers_of(const LoaderConfig& config) {
  if (config.readers > 0) return static_cast<std::size_t>(config.readers);
  return static_cast<std::size_t>(config.share || config.micro_batch == 1 ? 1 : core::thread_count());
}

std::size_t DataLoader::memory_bytes(const SampleSpec& spec, const VoxelTransform& transform,
                                     const LoaderConfig& config) {
  const std::size_t batch =
      static_cast<std::size_t>(config.micro_batch) * sizeof(float) *
      (input_values(spec, transform, config) + (config.target ? target_values(spec, config) : 0));
  const std::size_t sample =
      config.share && !cuts_what_is_made(transform, config)
          ? SlabSource::memory_bytes(spec, *config.share, config.shuffle && config.augment, config.roll)
          : (config.roll ? 2 : 1) * tensor_bytes(spec, transform, config) + class_bytes(spec, config) +
                uncut_values(spec, transform, config) * sizeof(float);
  const std::size_t reader = sample + InputMaker::memory_bytes(transform, spec.input.voxels());
  return slots_of(config) * batch + makers_of(config) * reader;
}

void DataLoader::start_epoch(std::uint32_t epoch, std::uint32_t first_step) {
  ahead_.drop();
  epoch_ = epoch;
  if (config_.shuffle) {
    order_ = sample_order(config_.seed, epoch, samples());
  } else if (!config_.only.empty()) {
    order_ = config_.only;
  } else {
    order_.resize(samples());
    std::iota(order_.begin(), order_.end(), 0u);
  }
  if (slots_.front().voxels.size() == 0) allocate();
  batches_ = steps_per_epoch() * batches_per_step();
  first_ = next_ = first_step * batches_per_step();
  ahead_.start(batches_ - first_);
}

std::optional<Batch> DataLoader::next() {
  if (next_ == batches_) {
    if (config_.releases) release();
    return std::nullopt;
  }
  const core::Timer waited;
  const std::size_t batch = next_++;
  const Slot& slot = slots_[ahead_.take()];
  statistics_ += {waited.seconds(), slot.seconds, slot.bytes};
  const auto samples = batch_samples(batch);
  return Batch{slot.voxels.span(),
               slot.targets.span(),
               static_cast<int>(samples.size()),
               samples,
               static_cast<int>(step_samples(batch).size()),
               next_ % batches_per_step() == 0};
}

std::size_t DataLoader::batches_per_step() const {
  return static_cast<std::size_t>(config_.global_batch / (config_.ranks * config_.micro_batch));
}

std::span<const std::uint32_t> DataLoader::step_samples(std::size_t batch) const {
  const auto step = static_cast<std::size_t>(config_.global_batch);
  return part_of(order_, batch / batches_per_step() * step, step);
}

std::span<const std::uint32_t> DataLoader::batch_samples(std::size_t batch) const {
  const std::size_t before =
      static_cast<std::size_t>(config_.rank) * batches_per_step() + batch % batches_per_step();
  const auto rows = static_cast<std::size_t>(config_.micro_batch);
  return part_of(step_samples(batch), before * rows, rows);
}

void DataLoader::make(std::size_t item, std::span<Reader> readers) {
  const core::Timer making;
  Slot& slot = slots_[item % slots_.size()];
  const std::size_t size = input_values(source_.spec(), transform_, config_);
  const std::size_t width = target_values(source_.spec(), config_);
  const auto samples = batch_samples(first_ + item);
  std::atomic<std::uint64_t> bytes = 0;
  std::vector<std::exception_ptr> errors(samples.size());
  const auto load_row = [&](std::size_t row, std::size_t thread) {
    try {
      bytes += load(samples[row], readers[thread], slot.voxels.span().subspan(row * size, size));
      bytes += load_target(samples[row], readers[thread], slot.targets.span().subspan(row * width, width));
    } catch (...) {
      errors[row] = std::current_exception();  // all samples are loaded, since other ranks may wait for them
    }
  };
  if (readers.size() > 1) {
    core::in_threads(samples.size(), load_row);
  } else {
    for (std::size_t row = 0; row < samples.size(); ++row) load_row(row, 0);
  }
  std::ranges::fill(slot.voxels.span().subspan(samples.size() * size), 0.0f);
  std::ranges::fill(slot.targets.span().subspan(samples.size() * width), 0.0f);
  slot.bytes = bytes;
  slot.seconds = making.seconds();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

/// A tensor of the sample, as stored or rolled, in one of the reader's buffers.
template <class T>
std::span<const T> DataLoader::read(std::uint32_t sample, Reader& reader, Tensor which) {
  const SampleSpec& spec = source_.spec();
  const Quantity& quantity = which == Tensor::input    ? spec.input
                             : which == Tensor::target ? *spec.target
                                                       : *spec.velocity;
  const std::span voxels(reinterpret_cast<T*>(reader.voxels.data()), quantity.voxels());
  if (source_.is_plain() && quantity.kind == VoxelKind::classes) {
    const std::span stored = reader.classes.span();
    source_.read_stored(sample, reader.chunks, stored, which);
    const std::span classes(reinterpret_cast<const std::uint8_t*>(stored.data()), stored.size());
    check_classes(classes, source_.describe(sample));
    std::ranges::copy(classes, voxels.begin());
  } else if (source_.is_plain())
    source_.read_stored(sample, reader.chunks, reader.voxels.span().first(quantity.bytes()), which);
  else if constexpr (std::is_same_v<T, float>)
    source_.read(sample, voxels, which);
  else
    source_.read(sample, voxels);
  if (!(turns() && config_.roll)) return voxels;
  const std::span rolled(reinterpret_cast<T*>(reader.rolled.data()), voxels.size());
  const int side = source_.spec().side();
  roll<T>(choose_shift(config_.seed, epoch_, sample, side), side, voxels, rolled);
  return rolled;
}

/// Gets a part of the sample and transforms it. Planes outside of the sample are zeros.
template <class T>
std::uint64_t DataLoader::load_slab(std::uint32_t sample, const Symmetry& symmetry, Reader& reader,
                                    std::span<float> voxels) {
  const SampleSpec& spec = source_.spec();
  const int side = spec.side();
  const std::array<int, 3> shift =
      turns() && config_.roll ? choose_shift(config_.seed, epoch_, sample, side) : std::array<int, 3>{};
  std::uint64_t bytes = 0;
  const StoredPart<T> part = reader.slabs->read<T>(source_, reader.chunks, sample, symmetry, shift, bytes);
  const std::size_t plane = static_cast<std::size_t>(side) * static_cast<std::size_t>(side);
  const std::size_t before = config_.share->periodic
                                 ? 0
                                 : plane * static_cast<std::size_t>(std::max(0, -config_.share->own().first));
  const std::size_t channels = static_cast<std::size_t>(spec.input.channels()), size = part.box.voxels();
  reader.inputs->begin(reader.slabs->whole<T>());
  for (std::size_t channel = 0; channel < channels; ++channel) {
    const std::span<float> to =
        voxels.subspan(channel * (voxels.size() / channels), voxels.size() / channels);
    const std::span<const T> from = part.voxels.subspan(channel * size, size);
    std::ranges::fill(to.first(before), 0.0f);
    std::ranges::fill(to.subspan(before + size), 0.0f);
    reader.inputs->make_part(symmetry, part.box, from, to.subspan(before, size), channel);
  }
  return bytes;
}

/// Reads a sample and transforms it, where possible while its parts are read.
template <class T>
std::uint64_t DataLoader::load_whole(std::uint32_t sample, const Symmetry& symmetry, Reader& reader,
                                     std::span<float> voxels) {
  const bool as_stored =
      symmetry == Symmetry{} && !(turns() && config_.roll) && transform_.channels_beside() == 0;
  if (as_stored && source_.is_plain() && reader.inputs->same_for_all()) {
    std::size_t done = 0;
    source_.read_stored(sample, reader.chunks, [&](std::span<const std::byte> bytes) {
      const std::span part(reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T));
      reader.inputs->make_part(part, voxels.subspan(done, part.size()), done);
      done += part.size();
    });
  } else {
    const std::span<const T> stored = read<T>(sample, reader, Tensor::input);
    reader.inputs->begin(stored);
    reader.inputs->make_part(symmetry, source_.spec().side(), stored, voxels.first(stored.size()));
    reader.inputs->make_beside(symmetry, stored, voxels.subspan(stored.size()));
    if (transform_.velocity > 0)  // last: it is read where the counts were
      reader.inputs->make_velocity(symmetry, read<float>(sample, reader, Tensor::velocity),
                                   voxels.subspan(stored.size()));
  }
  return source_.stored_bytes(sample);
}

std::uint64_t DataLoader::load_target(std::uint32_t sample, Reader& reader, std::span<float> target) {
  if (!config_.target) {
    std::ranges::copy(source_.labels(sample), target.begin());
    return 0;
  }
  const Symmetry symmetry = turns() ? choose_symmetry(config_.seed, epoch_, sample) : Symmetry{};
  const FieldMap map{Curve::none, static_cast<float>(config_.target->offset),
                     static_cast<float>(config_.target->scale)};
  const core::Slab* planes = config_.share ? &config_.share->target : nullptr;
  return make_and_cut(reader, source_.spec().target->voxels(), planes, target, [&](std::span<float> whole) {
    transform_voxels(symmetry, source_.spec().side(), map, read<float>(sample, reader, Tensor::target),
                     whole);
    return std::uint64_t{whole.size_bytes()};
  });
}

template <class Make>
std::uint64_t DataLoader::make_and_cut(Reader& reader, std::size_t size, const core::Slab* planes,
                                       std::span<float> part, const Make& make) {
  if (planes == nullptr) return make(part);
  const std::span<float> whole = reader.uncut.span().first(size);
  const std::uint64_t bytes = make(whole);
  copy_planes_of(whole, source_.spec().side(), *planes, config_.share->periodic, part);
  return bytes;
}

std::uint64_t DataLoader::load(std::uint32_t sample, Reader& reader, std::span<float> voxels) {
  const Symmetry symmetry = turns() ? choose_symmetry(config_.seed, epoch_, sample) : Symmetry{};
  const bool counts = source_.spec().input.kind == VoxelKind::counts;
  if (reader.slabs)
    return counts ? load_slab<std::uint16_t>(sample, symmetry, reader, voxels)
                  : load_slab<float>(sample, symmetry, reader, voxels);
  const core::Slab* planes = config_.share ? &config_.share->own() : nullptr;
  return make_and_cut(reader, whole_input(source_.spec(), transform_), planes, voxels,
                      [&](std::span<float> whole) {
                        return counts ? load_whole<std::uint16_t>(sample, symmetry, reader, whole)
                                      : load_whole<float>(sample, symmetry, reader, whole);
                      });
}

}  // namespace cosmo::dataset
