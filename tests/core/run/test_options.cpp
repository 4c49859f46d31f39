#include <catch2/catch.hpp>
#include <fstream>

#include "core/error.hpp"
#include "core/named.hpp"
#include "core/run/help_text.hpp"
#include "core/run/options.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace cosmo::core;

namespace {

Options declared() {
  Options options;
  options.add("box X", "512", "side [Mpc/h]");
  options.add("omega-m X|LOW:HIGH", "0.3", "matter");
  options.add("output DIR", std::nullopt, "directory");
  options.add("config FILE", std::nullopt, "file");
  options.add_flag("force", "replace");
  options.add("table on|off", "on", "write a table");
  return options;
}

}  // namespace

TEST_CASE("the command line wins over the file, the file over defaults") {
  const TemporaryDirectory directory;
  std::ofstream(directory.path() / "a.ini") << "box = 100\nomega-m = 0.25:0.35\nforce = true\n";
  Options options = declared();
  options.parse({"--box=256", "--config", (directory.path() / "a.ini").string()});
  CHECK(options.number("box") == 256);
  CHECK(options.range("omega-m") == std::pair(0.25, 0.35));
  CHECK(options.flag("force"));
  CHECK_FALSE(options.given("output"));
}

TEST_CASE("a default is given but not chosen, and a value in a file is chosen") {
  const TemporaryDirectory directory;
  std::ofstream(directory.path() / "a.ini") << "box = 512\n";
  Options options = declared();
  options.parse({"--config", (directory.path() / "a.ini").string()});
  CHECK((options.given("omega-m") && !options.chosen("omega-m")));
  CHECK((options.given("box") && options.chosen("box")));
}

TEST_CASE("values without a name are a list where a command declares one") {
  const auto parsed = [](const std::vector<std::string>& words) {
    Options options;
    options.add_positionals("run", "directories");
    options.add("html FILE", std::nullopt, "a page");
    options.parse(words);
    return options;
  };
  const Options options = parsed({"a,b", "--html", "x.html", "c d", "a,b"});
  CHECK(options.texts("run") == std::vector<std::string>{"a,b", "c d", "a,b"});
  CHECK(options.text("html") == "x.html");
  CHECK(options.help().find("RUN...") != std::string::npos);
  CHECK_THROWS_WITH(parsed({}).texts("run"), Catch::Contains("run is missing: directories"));
  CHECK_THROWS_WITH(parsed({"a", ""}).texts("run"), Catch::Contains("A run is empty"));
  CHECK_THROWS_WITH(parsed({"a", "--html", "x", "--html", "y"}), Catch::Contains("--html is given twice"));
}

TEST_CASE("a switch is on or off, and on when it stands alone") {
  const auto table = [](const std::vector<std::string>& words) {
    Options options = declared();
    options.parse(words);
    return options.is_on("table");
  };
  CHECK(table({}));
  CHECK(table({"--table"}));
  CHECK(table({"--table", "--force"}));
  CHECK_FALSE(table({"--table", "off", "--force"}));
  CHECK_FALSE(table({"--table=off"}));
  expect_error(Fault::usage, "--table", [&] { (void)table({"--table", "true"}); });
}

TEST_CASE("a value in brackets may be left out, which chooses the default") {
  const auto parsed = [](const std::vector<std::string>& words) {
    Options options = declared();
    options.add("time [SECONDS]", "3", "run a benchmark");
    options.parse(words);
    return std::pair(options.chosen("time"), options.number("time"));
  };
  CHECK(parsed({}) == std::pair(false, 3.0));
  CHECK(parsed({"--time", "--force"}) == std::pair(true, 3.0));
  CHECK(parsed({"--force", "--time"}) == std::pair(true, 3.0));
  CHECK(parsed({"--time", "0.5"}) == std::pair(true, 0.5));
  CHECK(parsed({"--time=-1"}) == std::pair(true, -1.0));
  CHECK(parsed({"--time=true"}) == std::pair(true, 3.0));  // as a file has it
  CHECK(parsed({"--time=false"}) == std::pair(false, 3.0));
}

TEST_CASE("a choice is one of those declared, or a row of their table") {
  const std::vector<Named<int>> table = {{"coarse", 1}, {"fine", 2}};
  const auto mesh = [&](const std::string& value) {
    Options options;
    options.add("mesh", std::nullopt, "mesh", names_in(table));
    options.parse({"--mesh=" + value});
    return options.entry("mesh", table).value;
  };
  CHECK(mesh("fine") == 2);
  expect_error(Fault::usage, "--mesh is 'finer': choose coarse or fine", [&] { (void)mesh("finer"); });
}

TEST_CASE("a seed is a whole number that JSON keeps") {
  const auto seed = [](const std::string& value) {
    Options options = declared();
    options.parse({"--box=" + value});
    return options.seed("box");
  };
  CHECK(seed("0") == 0);
  CHECK(seed("9007199254740991") == (std::uint64_t{1} << 53) - 1);
  CHECK(seed("+7") == 7);
  for (const char* value : {"-1", "9007199254740992", "18446744073709551615", "-99999999999999999999"}) {
    expect_error(Fault::config,
                 fmt::format("--box is {}: choose a value between 0 and 9007199254740991.", value),
                 [&] { (void)seed(value); });
  }
  for (const char* value : {"1.5", "99999999999999999999.5", "+", "+-1", "++1", ""})
    expect_error(Fault::usage, "--box", [&] { (void)seed(value); });
}

TEST_CASE("a list takes all words up to the next option, wherever it is given") {
  const auto parsed = [](const std::vector<std::string>& words) {
    Options options;
    options.add("input FILE ...", std::nullopt, "files");
    options.add("seed N", "1", "seed");
    options.parse(words);
    return options;
  };
  const Options options = parsed({"--input", "a", "b c", "--seed", "2", "--input=d,e", "--input", "f"});
  CHECK(options.texts("input") == std::vector<std::string>{"a", "b c", "d,e", "f"});
  CHECK(options.integer("seed", 0, 9) == 2);
  CHECK(parsed({"--input", "x"}).texts("input") == std::vector<std::string>{"x"});
  CHECK_THROWS_AS(parsed({"--input"}), Error);
  CHECK_THROWS_AS((void)parsed({"--input", "x", ""}).texts("input"), Error);
  CHECK_THROWS_AS((void)parsed({}).texts("input"), Error);
}

TEST_CASE("numbers stand between commas") {
  const auto numbers = [](const std::string& value) {
    Options options = declared();
    options.parse({"--box", value});
    return options.numbers("box");
  };
  CHECK(numbers("3") == std::vector<double>{3});
  CHECK(numbers("0,1.5,0.25") == std::vector<double>{0, 1.5, 0.25});
  for (const char* value : {"1,", ",1", "1,,2", "1 2", "1,x"}) {
    expect_error(Fault::usage, fmt::format("--box is '{}'", value), [&] { (void)numbers(value); });
  }
}

TEST_CASE("an interval is two whole numbers, and a sentence explains how to write it") {
  const auto interval = [](const std::string& value) {
    Options options = declared();
    options.parse({"--box=" + value});
    return options.interval("box", 6);
  };
  CHECK(interval("0:6") == std::pair<std::int64_t, std::int64_t>(0, 6));
  CHECK(interval("4:5") == std::pair<std::int64_t, std::int64_t>(4, 5));
  for (const char* value : {"x", "3", ":", "1:", ":2", "1:2:3", "0.5:2", "0:1e1", "+:2"}) {
    expect_error(Fault::usage, fmt::format("'{}': write I:J", value), [&] { (void)interval(value); });
  }
  for (const char* value : {"2:1", "2:2", "-1:2", "0:7", "0:99999999999999999999"}) {
    expect_error(Fault::config, fmt::format("'{}': write I:J", value), [&] { (void)interval(value); });
  }
}

TEST_CASE("a file that is not text is not quoted, and a line that is not an option is") {
  const TemporaryDirectory directory;
  const std::string path = (directory.path() / "a.ini").string();
  const auto parse = [&](const std::string& content) {
    std::ofstream(path) << content;
    Options options = declared();
    options.parse({"--config", path});
  };
  CHECK_NOTHROW(parse("# Ω_m, σ_8\r\nbox\t= 100\r\n"));
  for (const std::string& content :
       {std::string("\0\1", 2), std::string("box = \x1b[31m1"), std::string("\x7f"),
        std::string("box = \xc2\x9b"), std::string("box = \xff")}) {
    expect_error(Fault::usage, path + " of --config is not text: give", [&] { parse(content); });
  }
  for (const char* line : {"box", "%invalid_line%", "a%prefix%b%invalid_line%%"}) {
    expect_error(Fault::usage, path + " of --config has the line '" + line + "': write NAME = VALUE",
                 [&] { parse(std::string("box = 1\n") + line + "\n"); });
  }
}

TEST_CASE("what cannot be read names the option") {
  const auto parsed = [](const std::vector<std::string>& words) {
    Options options = declared();
    options.parse(words);
    return options;
  };
  expect_error(Fault::usage, "--bxo", [&] { parsed({"--bxo", "3"}); });
  expect_error(Fault::usage, "--box", [&] { parsed({"--box", "1", "--box", "2"}); });
  expect_error(Fault::usage, "without the name of its option", [&] { parsed({"stray"}); });
  expect_error(Fault::usage, "--box", [&] { (void)parsed({"--box", "12abc"}).number("box"); });
  expect_error(Fault::usage, "--box", [&] { (void)parsed({"--box", "nan"}).number("box"); });
  expect_error(Fault::usage, "--box", [&] { (void)parsed({"--box", "1e999"}).number("box"); });
  expect_error(Fault::usage, "--box", [&] { (void)parsed({"--box", "3.5"}).integer("box", 1, 9); });
  expect_error(Fault::config, "box", [&] { (void)parsed({"--box", "10"}).integer("box", 1, 9); });
  expect_error(Fault::config, "omega-m", [&] { (void)parsed({"--omega-m", "0.4:0.3"}).range("omega-m"); });
  CHECK(parsed({"--omega-m", "+0.2:+0.3"}).range("omega-m") == std::pair(0.2, 0.3));
  CHECK(parsed({"--box", "+0.5"}).number("box") == 0.5);
  expect_error(Fault::usage, "--box", [&] { (void)parsed({"--box", "+-1"}).number("box"); });
  for (const char* value : {"0.3:", ":0.3", "0.3:x", ":", "0.1:0.2:0.3"}) {
    expect_error(Fault::usage,
                 fmt::format("--omega-m is '{}': write a finite number, or two as LOW:HIGH.", value), [&] {
                   (void)parsed({"--omega-m", value}).range("omega-m");
                 });
  }
  expect_error(Fault::usage, "--output", [&] { (void)parsed({}).text("output"); });
  expect_error(Fault::io, "absent.ini", [&] { parsed({"--config", "absent.ini"}); });
}

TEST_CASE("help lists options by their groups") {
  Options options;
  options.add("input DIR", std::nullopt, "directory");
  options.begin_group("Optimizer");
  options.add("rate X", "0.1", "learning rate");
  options.add("method", "sgd", "optimizer", {"sgd", "adamw"});
  options.add("average on|off", "off", "use averages");
  options.add_flag("force", "replace");
  CHECK(options.help() ==
        "  --input DIR       directory\n\nOptimizer:\n  --rate X          learning rate [0.1]\n"
        "  --method NAME     optimizer [sgd]\n  --average on|off  use averages [off]\n"
        "  --force           replace\n");
  expect_error(Fault::internal, "--nameless", [&] { options.add("nameless", std::nullopt, "no choices"); });
}

TEST_CASE("help begins with the options of every day and ends with those for experts") {
  Options options;
  options.begin_group(kForExperts);
  options.add_flag("wire", "rare");
  options.begin_group("Optimizer");
  options.add_flag("decay", "sometimes");
  options.begin_group(kEveryDay);
  options.add_flag("data", "always");
  options.begin_group("Optimizer");
  options.add_flag("clip", "sometimes");
  CHECK(options.help() ==
        "\nEvery day:\n  --data   always\n\nOptimizer:\n  --decay  sometimes\n  --clip   sometimes\n"
        "\nFor experts:\n  --wire   rare\n");
}

TEST_CASE("options of earlier versions give their replacement its value, with a warning and out of help") {
  const auto parsed_from = [](const std::vector<std::string>& words) {
    Options options = declared();
    options.add("drops EPOCH:FACTOR,...", "none", "drops");
    options.add_former({"decay-at EPOCHS", "decay-by FACTORS", "never"}, "drops", "1.4",
                       [](const Options& typed) {
                         if (typed.flag("never")) return std::string("none");
                         return typed.text("decay-at") + ":" + typed.text("decay-by");
                       });
    options.parse(words);
    return options;
  };
  const Options options = parsed_from({"--decay-at", "3", "--decay-by=0.5"});
  CHECK(options.text("drops") == "3:0.5");
  CHECK((options.chosen("drops") && !options.given("decay-at") && !options.chosen("decay-by")));
  REQUIRE(options.warnings().size() == 1);
  CHECK(
      options.warnings().front() ==
      "--decay-at and --decay-by are from an earlier version: write --drops 3:0.5, since version 1.4 will refuse them.");
  CHECK(options.help().find("decay-at") == std::string::npos);
  const TemporaryDirectory directory;
  std::ofstream(directory.path() / "a.ini") << "never = true\n";
  const Options from_file = parsed_from({"--config", (directory.path() / "a.ini").string()});
  CHECK((from_file.text("drops") == "none" && from_file.warnings().size() == 1));
  CHECK(parsed_from({}).warnings().empty());
  expect_error(Fault::usage, "--decay-by", [&] { (void)parsed_from({"--decay-at", "3"}); });
}

TEST_CASE("switches and values of earlier versions are replaced, too") {
  const auto parsed_from = [](const std::vector<std::string>& words) {
    Options options = declared();
    options.add("save NAME,...", "counts", "what", {"counts", "particles"});
    options.add_former({"save both", "spectrum on|off"}, "save", "1.4", [](const Options& typed) {
      const std::string save = typed.text("save") == "both" ? "counts,particles" : typed.text("save");
      return save + (typed.given("spectrum") && typed.is_on("spectrum") ? ",spectrum" : "");
    });
    options.parse(words);
    return options;
  };
  CHECK(parsed_from({"--save", "counts,particles"}).warnings().empty());
  const Options both = parsed_from({"--save=both"});
  CHECK(both.text("save") == "counts,particles");
  CHECK(both.warnings() ==
        std::vector<std::string>{"--save both is from an earlier version: write --save counts,particles, "
                                 "since version 1.4 will refuse it."});
  CHECK(both.help().find("both") == std::string::npos);
  CHECK(parsed_from({"--spectrum", "--output", "x"}).text("save") == "counts,spectrum");
  CHECK(parsed_from({"--spectrum", "off"}).text("save") == "counts");
  const Options with_spectrum = parsed_from({"--spectrum=on", "--save", "both"});
  CHECK(with_spectrum.text("save") == "counts,particles,spectrum");
  CHECK(with_spectrum.warnings() ==
        std::vector<std::string>{"--save both and --spectrum are from an earlier version: write --save "
                                 "counts,particles,spectrum, since version 1.4 will refuse them."});
  expect_error(Fault::usage, "'maybe': choose on or off", [&] {
    (void)parsed_from({"--spectrum", "maybe"});
  });
}

TEST_CASE("help is broken into lines between words, by columns of UTF-8") {
  CHECK(wrapped("one two three", 100, 4, 4) == "one two three");
  CHECK(wrapped("one two three", 11, 4, 4) == "one two\n    three");
  CHECK(wrapped("³³³ ³³³ x", 11, 4, 4) == "³³³ ³³³\n    x");
  CHECK(wrapped("aword longerthanaline b", 8, 0, 2) == "aword\n  longerthanaline\n  b");
  CHECK(wrapped("tool --option value --other", 24, 2, 6, " \\") == "tool --option value \\\n      --other");
}
