#include "dataset/exchange/tf_example.hpp"

#include <cstdint>
#include <cstring>

#include "core/error.hpp"
#include "core/format/protobuf.hpp"

namespace cosmo::dataset {

using core::ensure;
using core::Fault;
using Wire = core::ProtobufWire;

namespace {

/// Everything that precedes a feature's content in the Features message.
std::string prefix_of(const OutgoingFeature& feature) {
  const std::size_t content = feature.content.size();
  const std::string value = core::protobuf_header(1, content);
  const std::string list =
      core::protobuf_header(static_cast<int>(feature.kind), value.size() + content) + value;
  const std::string entry = core::protobuf_header(1, feature.name.size()) + std::string(feature.name) +
                            core::protobuf_header(2, list.size() + content) + list;
  return core::protobuf_header(1, entry.size() + content) + entry;
}

/// Walks the fields of a message.
class Fields {
 public:
  Fields(std::span<const std::byte> message, const std::string& source) : rest_(message), source_(source) {}

  /// Goes to the next field; false at the end.
  bool next() {
    if (rest_.empty()) return false;
    const std::uint64_t tag = varint();
    number_ = tag >> 3;
    wire_ = static_cast<Wire>(tag & 7);
    if (wire_ == Wire::varint) {
      (void)varint();
    } else {
      check(wire_ == Wire::fixed64 || wire_ == Wire::delimited || wire_ == Wire::fixed32);
      const std::uint64_t length = wire_ == Wire::delimited ? varint() : wire_ == Wire::fixed64 ? 8 : 4;
      check(length <= rest_.size());
      value_ = rest_.first(static_cast<std::size_t>(length));
      rest_ = rest_.subspan(value_.size());
    }
    return true;
  }
  bool is(std::uint64_t number, Wire wire) const { return number_ == number && wire_ == wire; }
  std::span<const std::byte> value() const { return value_; }  ///< content, unless it is a varint

 private:
  void check(bool good) const {
    ensure(good, Fault::format, "{} is not a tf.train.Example: restore it.", source_);
  }
  std::uint64_t varint() {
    std::uint64_t number = 0;
    for (int shift = 0;; shift += 7) {
      check(!rest_.empty() && shift < 64);
      const auto byte = std::to_integer<std::uint64_t>(rest_.front());
      rest_ = rest_.subspan(1);
      number |= (byte & 0x7f) << shift;
      if (byte < 0x80) return number;
    }
  }

  std::span<const std::byte> rest_;
  const std::string& source_;
  std::uint64_t number_ = 0;
  Wire wire_ = Wire::varint;
  std::span<const std::byte> value_;
};

/// Calls visit(value) for every delimited field with this number.
template <class Visit>
void each(std::span<const std::byte> message, std::uint64_t number, const std::string& source,
          const Visit& visit) {
  for (Fields fields(message, source); fields.next();) {
    if (fields.is(number, Wire::delimited)) visit(fields.value());
  }
}

/// Appends the floats of a list, packed or not: both are allowed.
void add_floats(std::span<const std::byte> list, const std::string& source, std::vector<float>& floats) {
  for (Fields fields(list, source); fields.next();) {
    if (!fields.is(1, Wire::delimited) && !fields.is(1, Wire::fixed32)) continue;
    const std::size_t old = floats.size(), size = fields.value().size() / sizeof(float);
    ensure(fields.value().size() == size * sizeof(float), Fault::format,
           "{} has a list of floats of {} bytes: restore it.", source, fields.value().size());
    floats.resize(old + size);
    if (size > 0) std::memcpy(floats.data() + old, fields.value().data(), fields.value().size());
  }
}

Feature decode_feature(std::span<const std::byte> message, const std::string& source) {
  Feature feature;
  each(message, 1, source, [&](std::span<const std::byte> list) {
    each(list, 1, source, [&](std::span<const std::byte> value) { feature.bytes.push_back(value); });
  });
  each(message, 2, source,
       [&](std::span<const std::byte> list) { add_floats(list, source, feature.floats); });
  return feature;
}

}  // namespace

std::vector<std::byte> encode_example(std::span<const OutgoingFeature> features) {
  std::vector<std::string> prefixes;
  std::size_t size = 0;
  for (const OutgoingFeature& feature : features) {
    prefixes.push_back(prefix_of(feature));
    size += prefixes.back().size() + feature.content.size();
  }
  constexpr std::size_t kMost = (std::size_t{1} << 31) - 64;
  ensure(
      size <= kMost, Fault::config,
      "A sample takes {} bytes and a tf.train.Example at most 2 GiB: export to npy, or cut the simulations "
      "into more sub-volumes.",
      size);
  std::vector<std::byte> message;
  message.reserve(size + 16);
  const auto append = [&](std::span<const std::byte> bytes) {
    message.insert(message.end(), bytes.begin(), bytes.end());
  };
  const std::string header = core::protobuf_header(1, size);
  append(std::as_bytes(std::span(header)));
  for (std::size_t f = 0; f < features.size(); ++f) {
    append(std::as_bytes(std::span(prefixes[f])));
    append(features[f].content);
  }
  return message;
}

std::map<std::string, Feature> decode_example(std::span<const std::byte> message, const std::string& source) {
  std::map<std::string, Feature> features;
  const auto add_entry = [&](std::span<const std::byte> entry) {
    std::string name;
    Feature feature;
    each(entry, 1, source, [&](std::span<const std::byte> key) {
      name.assign(reinterpret_cast<const char*>(key.data()), key.size());
    });
    each(entry, 2, source,
         [&](std::span<const std::byte> value) { feature = decode_feature(value, source); });
    features[name] = std::move(feature);
  };
  each(message, 1, source, [&](std::span<const std::byte> map) { each(map, 1, source, add_entry); });
  return features;
}

}  // namespace cosmo::dataset
