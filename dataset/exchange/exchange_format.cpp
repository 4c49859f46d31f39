#include "dataset/exchange/exchange_format.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "core/error.hpp"
#include "core/file/byte_file.hpp"
#include "core/file/gzip.hpp"
#include "core/format/npy.hpp"
#include "core/named.hpp"
#include "dataset/exchange/npy_samples.hpp"
#include "dataset/exchange/tf_example.hpp"
#include "dataset/exchange/tfrecord.hpp"
#include "dataset/quantity/target.hpp"

namespace cosmo::dataset {

using core::ensure;
using core::fail;
using core::Fault;

namespace {

constexpr std::uint64_t kMostCount = std::numeric_limits<std::uint16_t>::max();

/// Numbers (C, V) as To (V, C).
template <class To, class From>
std::vector<To> channels_last(std::span<const From> values, std::size_t channels) {
  const std::size_t voxels = values.size() / channels;
  std::vector<To> turned(values.size());
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t v = 0; v < voxels; ++v)
      turned[v * channels + c] = static_cast<To>(values[c * voxels + v]);
  }
  return turned;
}

/// Numbers (V, C) as (C, V).
template <class T>
std::vector<std::byte> channels_first(const std::vector<T>& values, std::size_t channels) {
  const std::size_t voxels = values.size() / channels;
  std::vector<std::byte> turned(values.size() * sizeof(T));
  if (channels == 1) {
    std::memcpy(turned.data(), values.data(), turned.size());
    return turned;
  }
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t v = 0; v < voxels; ++v) {
      std::memcpy(turned.data() + (c * voxels + v) * sizeof(T), &values[v * channels + c], sizeof(T));
    }
  }
  return turned;
}

/// Whether a number is a valid voxel of type To.
template <class To, class From>
bool is_voxel(From value) {
  if constexpr (std::is_same_v<To, float>) {
    return std::isfinite(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, std::uint8_t>) {
    return is_class(static_cast<double>(value));
  } else if constexpr (std::is_floating_point_v<From>) {
    return value >= 0 && value <= static_cast<From>(kMostCount) && std::trunc(value) == value;
  } else {
    return std::cmp_greater_equal(value, 0) && std::cmp_less_equal(value, kMostCount);
  }
}

template <class To, class From>
std::vector<To> to_voxels(std::span<const std::byte> bytes, const std::string& source) {
  std::vector<To> voxels(bytes.size() / sizeof(From));
  for (std::size_t i = 0; i < voxels.size(); ++i) {
    From value;
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    ensure(is_voxel<To>(value), Fault::format, "{} has {} at voxel {}, which is not a {}.", source, value, i,
           std::is_same_v<To, float> ? "finite float32: correct the file"
           : std::is_same_v<To, std::uint8_t>
               ? "class from 0 to 3: correct the file"
               : "count from 0 to 65535: give counts, or import fields by cosmo-prep import --voxels field");
    voxels[i] = static_cast<To>(value);
  }
  return voxels;
}

/// Elements of type From, channels last, as voxels of a kind, channels first.
template <class From>
std::vector<std::byte> voxels_of(std::span<const std::byte> bytes, VoxelKind kind, std::size_t channels,
                                 const std::string& source) {
  if (kind == VoxelKind::classes)
    return channels_first(to_voxels<std::uint8_t, From>(bytes, source), channels);
  return kind == VoxelKind::counts ? channels_first(to_voxels<std::uint16_t, From>(bytes, source), channels)
                                   : channels_first(to_voxels<float, From>(bytes, source), channels);
}

/// How the elements of a type become voxels.
struct ElementType {
  std::string_view name;
  std::vector<std::byte> (*read)(std::span<const std::byte>, VoxelKind, std::size_t channels,
                                 const std::string&);
};

constexpr std::array<ElementType, 10> kElementTypes = {{{"|i1", &voxels_of<std::int8_t>},
                                                        {"|u1", &voxels_of<std::uint8_t>},
                                                        {"<i2", &voxels_of<std::int16_t>},
                                                        {"<u2", &voxels_of<std::uint16_t>},
                                                        {"<i4", &voxels_of<std::int32_t>},
                                                        {"<u4", &voxels_of<std::uint32_t>},
                                                        {"<i8", &voxels_of<std::int64_t>},
                                                        {"<u8", &voxels_of<std::uint64_t>},
                                                        {"<f4", &voxels_of<float>},
                                                        {"<f8", &voxels_of<double>}}};

void check_shape(const std::vector<int>& shape, const ForeignFile& file) {
  const bool cube =
      (shape.size() == 3 || shape.size() == 4) && std::equal(shape.end() - 2, shape.end(), shape.end() - 3);
  const int channels = shape.size() == 4 ? shape.front() : 1;
  ensure(
      cube && channels == file.channels, Fault::format,
      "{} has the shape ({}), which is not a cube of {} channel{}, one per redshift: give a file "
      "with all of these, channels first, or state others by --redshifts, as 0,0,0 for three; of many universes in one "
      "array each has its number in the table's column record.",
      file.path.string(), fmt::join(shape, ", "), file.channels, file.channels == 1 ? "" : "s");
}

std::vector<std::byte> encode_as_npy(const OutgoingSample& sample) {
  const char* type = sample.kind == VoxelKind::counts  ? "<u2"
                     : sample.kind == VoxelKind::field ? "<f4"
                                                       : "|u1";
  return core::encode_npy(type, sample.shape, sample.voxels);
}

ForeignSample decode_npy_file(const ForeignFile& file) {
  const std::string source = file.path.string();
  if (file.record) {
    const NpySamples samples(file.path, file.channels);
    ensure(*file.record < samples.size(), Fault::format, "{} has no record {}, only {}: correct the table.",
           source, *file.record, samples.size());
    std::vector<int> shape(3, samples.side());
    if (file.channels > 1) shape.insert(shape.begin(), file.channels);
    return {shape, samples.read(*file.record, file.kind), {}};
  }
  const auto bytes = core::read_bytes(file.path);
  const core::NpyArray array = core::decode_npy(bytes, source);
  check_shape(array.shape, file);
  return {array.shape, voxels_of_elements(array.type, array.elements, file.kind, source), {}};
}

std::size_t channels_of(const std::vector<int>& shape) {
  return shape.size() == 4 ? static_cast<std::size_t>(shape.front()) : 1;
}

template <class Voxel>
std::vector<std::byte> example_of(const OutgoingSample& sample, const char* voxels, OutgoingFeature labels) {
  const auto turned = with_voxels(sample.kind, sample.voxels, [&](auto values) {
    return channels_last<Voxel>(values, channels_of(sample.shape));
  });
  const std::array<OutgoingFeature, 2> features = {
      {{voxels, OutgoingFeature::Kind::bytes, std::as_bytes(std::span(turned))}, labels}};
  return framed(encode_example(features));
}

std::vector<std::byte> encode_as_mlperf(const OutgoingSample& sample) {
  return core::gzip(example_of<std::int16_t>(
      sample, "x", {"y", OutgoingFeature::Kind::floats, std::as_bytes(sample.unit)}));
}

std::vector<std::byte> encode_as_cosmoflow(const OutgoingSample& sample) {
  return example_of<double>(sample, "data_raw",
                            {"label_raw", OutgoingFeature::Kind::bytes, std::as_bytes(sample.physical)});
}

/// The single byte string of a feature.
std::span<const std::byte> bytes_of(const std::map<std::string, Feature>& features, const char* name,
                                    const std::string& source) {
  const auto found = features.find(name);
  ensure(found != features.end() && found->second.bytes.size() == 1, Fault::format,
         "{} has no feature {} of one string of bytes: give the --dialect that it is in.", source, name);
  return found->second.bytes.front();
}

/// The shape of a cube that takes `bytes` bytes.
std::vector<int> shape_of(std::size_t bytes, std::size_t voxel_bytes, const ForeignFile& file) {
  const auto channels = static_cast<std::size_t>(file.channels);
  const auto side = static_cast<std::size_t>(
      std::lround(std::cbrt(static_cast<double>(bytes) / static_cast<double>(voxel_bytes * channels))));
  ensure(side > 0 && side * side * side * channels * voxel_bytes == bytes, Fault::format,
         "{} holds {} bytes of voxels, which are not a cube of {} channel{} of {} bytes: give the "
         "--redshifts and the --dialect that it has.",
         file.path.string(), bytes, channels, channels == 1 ? "" : "s", voxel_bytes);
  const auto n = static_cast<int>(side);
  return channels == 1 ? std::vector<int>{n, n, n} : std::vector<int>{file.channels, n, n, n};
}

template <class Voxel>
ForeignSample sample_of(std::span<const std::byte> bytes, const ForeignFile& file) {
  return {shape_of(bytes.size(), sizeof(Voxel), file),
          voxels_of<Voxel>(bytes, file.kind, static_cast<std::size_t>(file.channels), file.path.string()),
          {}};
}

ForeignSample decode_mlperf_file(const ForeignFile& file) {
  const std::string source = file.path.string();
  const auto record = read_record(file.path, file.record);
  const auto features = decode_example(record, source);
  ForeignSample sample = sample_of<std::int16_t>(bytes_of(features, "x", source), file);
  const auto labels = features.find("y");
  ensure(labels != features.end() && !labels->second.floats.empty(), Fault::format,
         "{} has no feature y of floats: give the --dialect that it is in.", source);
  sample.labels.assign(labels->second.floats.begin(), labels->second.floats.end());
  return sample;
}

ForeignSample decode_cosmoflow_file(const ForeignFile& file) {
  const std::string source = file.path.string();
  const auto record = read_record(file.path, file.record);
  const auto features = decode_example(record, source);
  ForeignSample sample = sample_of<double>(bytes_of(features, "data_raw", source), file);
  const auto labels = bytes_of(features, "label_raw", source);
  ensure(!labels.empty() && labels.size() % sizeof(double) == 0, Fault::format,
         "{} has {} bytes of labels, which are not a float64: restore it.", source, labels.size());
  sample.labels.resize(labels.size() / sizeof(double));
  std::memcpy(sample.labels.data(), labels.data(), labels.size());
  return sample;
}

constexpr std::array<ExchangeFormat, 3> kFormats = {{
    {.name = "npy",
     .dialect = "",
     .meaning = "an array for each sample",
     .suffix = ".npy",
     .compressed = false,
     .count_bytes = 2,
     .field_bytes = 4,
     .copies = 1,
     .most_count = kMostCount,
     .has_labels = false,
     .unit_labels = false,
     .encode = &encode_as_npy,
     .decode = &decode_npy_file},
    {.name = "tfrecord",
     .dialect = "mlperf",
     .meaning = "gzip; x int16, y in [-1, 1]",
     .suffix = ".tfrecord",
     .compressed = true,
     .count_bytes = 2,
     .field_bytes = 0,
     .copies = 4,
     .most_count = 32767,
     .has_labels = true,
     .unit_labels = true,
     .encode = &encode_as_mlperf,
     .decode = &decode_mlperf_file},
    {.name = "tfrecord",
     .dialect = "cosmoflow",
     .meaning = "data_raw and label_raw float64, physical labels",
     .suffix = ".tfrecord",
     .compressed = false,
     .count_bytes = 8,
     .field_bytes = 8,
     .copies = 3,
     .most_count = kMostCount,
     .has_labels = true,
     .unit_labels = false,
     .encode = &encode_as_cosmoflow,
     .decode = &decode_cosmoflow_file},
}};

}  // namespace

std::vector<float> target_values(VoxelKind kind, std::span<const std::byte> bytes) {
  std::vector<float> values(bytes.size() / voxel_bytes(kind));
  if (kind == VoxelKind::classes)
    std::ranges::transform(bytes, values.begin(), [](std::byte b) { return static_cast<float>(b); });
  else
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

std::span<const ExchangeFormat> exchange_formats() { return kFormats; }

void check_element_type(std::string_view type, const std::string& source) {
  ensure(std::ranges::find(kElementTypes, type, &ElementType::name) != kElementTypes.end(), Fault::format,
         "{} has elements of type '{}': save integers, float32 or float64, little-endian.", source, type);
}

std::vector<std::byte> voxels_of_elements(std::string_view type, std::span<const std::byte> elements,
                                          VoxelKind kind, const std::string& source) {
  check_element_type(type, source);
  constexpr std::size_t kInOrder = 1;  // channels come first already
  return std::ranges::find(kElementTypes, type, &ElementType::name)->read(elements, kind, kInOrder, source);
}

const ExchangeFormat& find_exchange_format(std::string_view name, std::string_view dialect) {
  for (const ExchangeFormat& format : kFormats) {
    if (format.name == name && (format.dialect.empty() || format.dialect == dialect)) return format;
  }
  std::vector<std::string> known;
  for (const ExchangeFormat& format : kFormats) known.push_back(title_of(format));
  fail(Fault::config, "There is no --format '{}' of --dialect '{}': choose {}.", name, dialect,
       core::alternatives(known));
}

std::string title_of(const ExchangeFormat& format) {
  return format.dialect.empty() ? std::string(format.name)
                                : fmt::format("{} ({})", format.name, format.dialect);
}

std::size_t voxel_bytes(const ExchangeFormat& format, VoxelKind kind) {
  return kind == VoxelKind::counts ? format.count_bytes : format.field_bytes;
}

void check_fits(const ExchangeFormat& format, VoxelKind kind, std::uint64_t largest_count) {
  ensure(kind == VoxelKind::counts || format.field_bytes > 0, Fault::config,
         "{} holds whole numbers and the dataset a float32 field: export in another format.",
         title_of(format));
  ensure(largest_count <= format.most_count, Fault::numeric,
         "A voxel of the dataset counts {} and {} has room for {}: export in another format.", largest_count,
         title_of(format), format.most_count);
}

}  // namespace cosmo::dataset
