#include <catch2/catch.hpp>
#include <fstream>

#include "core/file/text_file.hpp"
#include "core/universe/length.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace cosmo::core;

TEST_CASE("a length is read, kept and converted in its unit") {
  CHECK(parse_length("512", "--box") == Length(512));
  CHECK(parse_length("512Mpc/h", "--box") == Length(512));
  CHECK(parse_length("731.43Mpc", "--box") == Length(731.43, LengthUnit::mpc));
  CHECK(Length(512).mpc_h(0.7) == 512);
  CHECK(Length(700, LengthUnit::mpc).mpc_h(0.7) == Approx(490));
  CHECK((Length(700, LengthUnit::mpc) / 2) == Length(350, LengthUnit::mpc));
  for (const char* wrong : {"Mpc", "5 12", "512Mpc/", "512kpc", "nanMpc"})
    expect_error(Fault::usage, fmt::format("--box is '{}'", wrong),
                 [&] { (void)parse_length(wrong, "--box"); });
  for (const Length& length : {Length(512), Length(700, LengthUnit::mpc)}) {
    Json json;
    write_length(json, "box", length);
    CHECK(json.size() == 1);
    CHECK(json.contains(length.unit == LengthUnit::mpc ? "box_mpc" : "box_mpc_h"));
    CHECK(read_length(json, "box") == length);
  }
  CHECK_THROWS_AS(read_length({{"box", 1}}, "box"), Json::exception);
}

TEST_CASE("a text file is read as numbered lines, and an error names the cell that is not a number") {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "table";
  std::ofstream(path, std::ios::binary) << "# k\r\n\n 1.5\t-2e3 \nnan,1e309, x,\n";
  const TextFile file(path);
  REQUIRE(file.lines().size() == 3);
  CHECK(file.lines()[0].text == "# k");
  CHECK(file.lines()[1].number == 3);
  const auto words = words_of(file.lines()[1].text);
  REQUIRE(words.size() == 2);
  CHECK(file.number(file.lines()[1], words[1]) == -2000);
  const auto cells = cells_of(file.lines()[2].text, ',');
  REQUIRE(cells.size() == 4);
  CHECK(cells[2] == "x");
  for (const auto cell : cells)
    expect_error(Fault::format, path.string() + " line 4", [&] { (void)file.number(file.lines()[2], cell); });
}

TEST_CASE("a byte order mark is not part of the text") {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "table";
  std::ofstream(path, std::ios::binary) << "\xEF\xBB\xBFomega_m\n0.3\n";
  const TextFile file(path);
  REQUIRE(file.lines().size() == 2);
  CHECK(file.lines()[0].text == "omega_m");
  CHECK(file.lines()[0].number == 1);
}

TEST_CASE("lines may end as those of an old Mac") {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "table";
  std::ofstream(path, std::ios::binary) << "omega_m\r0.3\r";
  const TextFile file(path);
  REQUIRE(file.lines().size() == 2);
  CHECK(file.lines()[1].text == "0.3");
  CHECK(file.lines()[1].number == 2);
}

TEST_CASE("what is not a text file is refused") {
  const TemporaryDirectory directory;
  const auto refused = [&](Fault fault, const std::string& content, const std::string& part) {
    const auto path = directory.path() / "file";
    std::ofstream(path, std::ios::binary) << content;
    expect_error(fault, part, [&] { TextFile{path}; });
  };
  refused(Fault::format, std::string("a\n").append(70000, 'x'), "line 2 is longer");
  refused(Fault::format, std::string("1 2\0", 4), "zero byte");
  expect_error(Fault::io, "absent", [&] { TextFile{directory.path() / "absent"}; });
  expect_error(Fault::io, directory.path().string(), [&] { TextFile{directory.path()}; });
}
