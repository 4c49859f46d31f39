#include <catch2/catch.hpp>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/format/json.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temporary_directory.hpp"

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

TEST_CASE("a member that an object has twice is refused") {
  for (const char* text :
       {R"({"a": 1, "a": 1})", R"({"a": {"b": 1, "c": [], "b": 2}})", R"([{"a": 1, "\u0061": 2}])"})
    CHECK_THROWS_AS(parse_json(text), Json::exception);
  CHECK(parse_json(R"([{"a": {"a": 1}, "b": 2}, {"a": 1}])").size() == 2);
}

TEST_CASE("a message on a JSON file names its place") {
  TemporaryDirectory directory;
  const auto path = directory.path() / "net.json";
  const auto refused = [&](const std::string& text, const std::string& place) {
    std::ofstream(path) << text;
    expect_error(Fault::format, path.string() + place, [&] { read_json(path); });
  };
  refused("{\n \"a\": 1,\n}\n", " is not valid JSON at line 3, column 1: correct");
  refused("{\"a\": 1e999}", " is not valid JSON at line 1, column 11");
  refused("", " is not valid JSON at line 1, column 1");
  refused(R"({"layers": [{"name": "a"}, {"name": "b", "kind": "add", "name": "c"}]})",
          R"( has the member "name" twice in "layers")");
  refused(R"({"a": 1, "a": 2})", R"( has the member "a" twice at its top)");
}
