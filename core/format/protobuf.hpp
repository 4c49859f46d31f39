#pragma once
// Writing protobuf messages, field by field. Source: protobuf.dev, "Encoding".

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace cosmo::core {

/// How protobuf stores a field's value; groups are obsolete.
enum class ProtobufWire : std::uint64_t { varint = 0, fixed64 = 1, delimited = 2, fixed32 = 5 };

/// The tag and length that precede a delimited field of this length [bytes].
std::string protobuf_header(int field, std::size_t length);

/// A message under construction, with fields in the order in which they are added.
class ProtobufMessage {
 public:
  ProtobufMessage& add(int field, std::int64_t number);    ///< for int32, int64 and enum fields
  ProtobufMessage& add(int field, float number);           ///< for float fields
  ProtobufMessage& add(int field, std::string_view text);  ///< for string and bytes fields
  ProtobufMessage& add(int field, const char* text) { return add(field, std::string_view(text)); }
  ProtobufMessage& add(int field, const ProtobufMessage& message) { return add(field, message.bytes()); }

  std::string_view bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace cosmo::core
