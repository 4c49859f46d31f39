#pragma once
// tf.train.Example, the message that TFRecord files usually hold: named lists of bytes or of float32.
//   Example { Features features = 1; }    Features { map<string, Feature> feature = 1; }
//   Feature { oneof { BytesList bytes_list = 1; FloatList float_list = 2; Int64List int64_list = 3; } }
//   BytesList { repeated bytes value = 1; }    FloatList { repeated float value = 1 [packed]; }
// Source: tensorflow/core/example/example.proto and feature.proto; protobuf's "Encoding".

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cosmo::dataset {

/// A feature to write: one value of a BytesList, or all float32 of a FloatList.
struct OutgoingFeature {
  enum class Kind { bytes = 1, floats = 2 };
  std::string_view name;
  Kind kind;
  std::span<const std::byte> content;  ///< little-endian
};

/// The message with these features. Throws Error{config} if it exceeds protobuf's limit of 2 GiB.
std::vector<std::byte> encode_example(std::span<const OutgoingFeature> features);

/// A feature that was read.
struct Feature {
  std::vector<std::span<const std::byte>> bytes;  ///< values of a BytesList; parts of the message
  std::vector<float> floats;                      ///< values of a FloatList
};

/// The features of a message, which must outlive them; those of other kinds are empty. Throws Error{format}
/// naming `source`.
std::map<std::string, Feature> decode_example(std::span<const std::byte> message, const std::string& source);

}  // namespace cosmo::dataset
