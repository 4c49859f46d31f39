#include <catch2/catch.hpp>
#include <string>

#include "core/format/base64.hpp"
#include "core/picture/svg_plot.hpp"

using namespace cosmo;
namespace svg = core::svg;

TEST_CASE("text from files is not taken as markup") {
  CHECK(svg::escaped("<a href=\"x\" id='y'>&amp;") == "&lt;a href=&quot;x&quot; id=&#39;y&#39;&gt;&amp;amp;");
  CHECK(svg::escaped("σ_8 = 0.8") == "σ_8 = 0.8");
  CHECK(svg::image(10, 10, "a < b", "").find("<title>a &lt; b</title>") != std::string::npos);
}

TEST_CASE("axes have round marks within their ends, which are where they should") {
  const svg::Axis axis = svg::linear_axis(0.247, 0.353, 60, 340, 5);
  REQUIRE(axis.marks.size() >= 3);
  CHECK(axis.marks.size() <= 6);
  CHECK(axis.marks.front() == Approx(0.25));
  CHECK(axis.marks[1] - axis.marks[0] == Approx(0.05));
  CHECK(axis.place(0.247) == Approx(60));
  CHECK(axis.place(0.353) == Approx(340));
  CHECK(svg::linear_axis(-1, 1, 0, 1, 4).marks == std::vector<double>{-1, -0.5, 0, 0.5, 1});
  const svg::Axis decades{1, 100, 200, 0, true, {}};
  CHECK(decades.place(10) == Approx(100));
  CHECK(svg::logarithmic_axis(0.9, 30, 0, 1).marks == std::vector<double>{1, 2, 5, 10, 20});
  CHECK(svg::logarithmic_axis(0.9, 3000, 0, 1).marks == std::vector<double>{1, 10, 100, 1000});
  CHECK(svg::round_step(0.0021) == Approx(0.005));
  CHECK(svg::round_step(0.002) == Approx(0.002));
}

TEST_CASE("base64 is that of RFC 4648") {
  const auto encoded = [](const std::string& text) { return core::base64(std::as_bytes(std::span(text))); };
  CHECK(encoded("").empty());
  CHECK(encoded("f") == "Zg==");
  CHECK(encoded("fo") == "Zm8=");
  CHECK(encoded("foobar") == "Zm9vYmFy");
}

TEST_CASE("a picture holds the bytes of its image") {
  CHECK(svg::picture(1, 2, 3, 4, "foobar").find("data:image/png;base64,Zm9vYmFy\"") != std::string::npos);
}
