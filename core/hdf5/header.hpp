#pragma once
// The headers of HDF5 objects, read without HDF5: version 1.10 trusts the lengths in an attribute, and reads
// past the header's end where they are damaged. Source: HDF5 File Format Specification 2.0, sections IV.A.1.a
// (version 1), IV.A.1.b (version 2), IV.A.2.b (dataspace), IV.A.2.d (datatype) and IV.A.2.m (attribute).

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/hdf5/places.hpp"

namespace cosmo::core::hdf5 {

enum class MessageKind : std::uint16_t {
  dataspace = 0x0001,
  datatype = 0x0003,
  attribute = 0x000C,
  continuation = 0x0010,
};

/// A message of a header.
struct Message {
  MessageKind kind;
  bool elsewhere;  ///< only the address of a message stored elsewhere
  std::vector<char> bytes;
};

/// The messages of the object whose header is at `header`. Throws Damage if they do not fit the file.
std::vector<Message> messages_at(Places& places, std::uint64_t header);

/// The parts of an attribute message, as views of it.
struct AttributeMessage {
  std::string_view name;
  bool own_type, own_space;  ///< whether they are stored in the message
  Bytes type, space, value;
};

/// Throws Damage for parts that do not fit the message.
AttributeMessage attribute_in(Bytes message);

/// Whether HDF5 can read an object without leaving its header: the datatypes and shapes of the object and of
/// its attributes fit their messages, and so do the attributes' names and values.
bool is_sound(Places& places, std::uint64_t header);

}  // namespace cosmo::core::hdf5
