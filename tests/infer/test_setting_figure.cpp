// The figure of settings: whatever they are called, their names fit.
#include <catch2/catch.hpp>
#include <regex>
#include <string>
#include <vector>

#include "infer/report/figure/setting_figure.hpp"

using namespace cosmo;

TEST_CASE("a title that is longer than the figure is broken between settings") {
  const std::string title =
      "steps 20, force kernel two-point, force mesh 64, growth exponent -2.5, kick formula standard, z initial 9, "
      "input 2";
  const std::string figure = infer::setting_figure(
      {"a", "b"}, {{title, {{0.1, 0.02}, {-0.2, 0.02}}}, {"short", {{0.1, 0.02}, {1.2, 0.02}}}});
  std::string words;
  double above = 0;
  const std::regex text(R"re(<text x="20\.0" y="([0-9.]+)"[^>]*>([^<]*)</text>)re");
  for (std::sregex_iterator found(figure.begin(), figure.end(), text), end; found != end; ++found) {
    const std::string line = (*found)[2];
    CHECK(line.size() <= 76);
    CHECK(line.front() != ' ');
    CHECK(std::stod((*found)[1]) > above);
    above = std::stod((*found)[1]);
    words += (words.empty() ? "" : " ") + line;
  }
  CHECK(words == title + " short");
}
