#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "core/format/json.hpp"

using namespace cosmo::core;

TEST_CASE("whole numbers are read from JSON as they are, or not at all") {
  const auto as_int = [](const char* text) { return parse_json(text).get<int>(); };
  CHECK(as_int("2147483647") == 2147483647);
  CHECK(as_int("-2147483648") == -2147483647 - 1);
  CHECK(as_int("3.0") == 3);
  CHECK(as_int("-1e3") == -1000);
  for (const char* text : {"2147483648", "-2147483649", "1.5", "1e300", "-1e300", "true", "\"1\"", "null",
                           "[1]", "18446744073709551615"})
    CHECK_THROWS_AS(as_int(text), Json::exception);
  CHECK(parse_json("18446744073709551615").get<std::uint64_t>() == 18446744073709551615u);
  CHECK_THROWS_AS(parse_json("-1").get<std::uint64_t>(), Json::exception);
  CHECK_THROWS_AS(parse_json("18446744073709551615").get<std::int64_t>(), Json::exception);
  CHECK_THROWS_AS(parse_json("1e300").get<std::uint64_t>(), Json::exception);
  CHECK_THROWS_AS(parse_json("[1, 256]").get<std::vector<std::uint8_t>>(), Json::exception);
  CHECK_THROWS_AS(parse_json(R"({"a": 1.5})").value("a", 0), Json::exception);
  CHECK(parse_json("true").get<bool>());
  CHECK(parse_json("1e300").get<double>() == 1e300);
  CHECK(Json(std::vector<int>{-1, 2}).dump() == "[-1,2]");
  CHECK(Json(std::uint64_t{18446744073709551615u}).dump() == "18446744073709551615");
}

TEST_CASE("JSON of many values is read in a time that grows as they do") {
  std::string text = "[{}";
  for (int i = 1; i < 1'000'000; ++i) text += ",{}";  // minutes, if each looked at those before it
  CHECK(parse_json(text + "]").size() == 1'000'000);
}

TEST_CASE("JSON is at most a hundred values deep") {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  CHECK_NOTHROW(parse_json(nested(100)));
  CHECK_THROWS_AS(parse_json(nested(101)), Json::exception);
  CHECK(parse_json(R"(["[[", "\"[", "\\"])").size() == 3);
}
