#include <catch2/catch.hpp>

#include "core/format/protobuf.hpp"

using cosmo::core::ProtobufMessage;
using namespace std::string_view_literals;

TEST_CASE("fields have the bytes of protobuf's own documentation") {
  CHECK(ProtobufMessage().add(1, std::int64_t{150}).bytes() == "\x08\x96\x01"sv);
  CHECK(ProtobufMessage().add(2, "testing").bytes() == "\x12\x07testing"sv);
  CHECK(ProtobufMessage().add(3, ProtobufMessage().add(1, std::int64_t{150})).bytes() ==
        "\x1a\x03\x08\x96\x01"sv);
}

TEST_CASE("negative numbers take ten bytes, floats four, and high field numbers two for their tag") {
  CHECK(ProtobufMessage().add(1, std::int64_t{-2}).bytes() ==
        "\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"sv);
  CHECK(ProtobufMessage().add(2, -0.5f).bytes() == "\x15\x00\x00\x00\xbf"sv);
  CHECK(ProtobufMessage().add(20, std::int64_t{0}).bytes() == "\xa0\x01\x00"sv);
  CHECK(cosmo::core::protobuf_header(1, 300) == "\x0a\xac\x02"sv);
}
