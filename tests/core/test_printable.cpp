#include <catch2/catch.hpp>

#include "core/printable.hpp"

using namespace cosmo::core;

TEST_CASE("text for a terminal keeps letters and lines, and obeys nothing") {
  CHECK(printable("Ω_m = 0.3\n\tσ_8 日 🌌") == "Ω_m = 0.3\n\tσ_8 日 🌌");
  CHECK(printable("\x1b]0;owned\x07\x1b[31m") == "\\x1b]0;owned\\x07\\x1b[31m");
  CHECK(printable("a\rb\x7f") == "a\\x0db\\x7f");
  CHECK(printable("\xc2\x9b") == "\\u009b");  // a control sequence in one character
  CHECK(printable("a\u202eb\u2066c\u2028\ufeff") == "a\\u202eb\\u2066c\\u2028\\ufeff");
  CHECK(printable("\u0646\u200c\u0647 \U0001f468\u200d\U0001f469") ==
        "\u0646\u200c\u0647 \U0001f468\u200d\U0001f469");  // letters and pictures that are joined
  CHECK(printable(std::string("a\0b", 3)) == "a\\x00b");
}

TEST_CASE("what a sentence quotes does not break its line") {
  CHECK(one_line("no file a\nb\tc\x1b") == "no file a\\nb\\x09c\\x1b");
  CHECK(one_line(std::string("a\0b", 3)) == "a\\x00b");
  CHECK(one_line("Ω_m \u202e") == "Ω_m \\u202e");
  CHECK(one_line(one_line("a\n\xff")) == one_line("a\n\xff"));
}

TEST_CASE("bytes that are not UTF-8 are shown as numbers") {
  // Cut short, a lone follower, two lengths too long, a surrogate, beyond the last character, no lead.
  for (const char* bad :
       {"\xce", "\xa9", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff"}) {
    CHECK_FALSE(is_utf8(bad));
    CHECK(is_utf8(printable(bad)));
    CHECK(printable(bad).starts_with("\\x"));
  }
  CHECK(is_utf8("Ω 日 🌌"));
  CHECK(is_utf8(""));
}

TEST_CASE("the middle of long text is left out, also within a character") {
  const std::string text = std::string(1000, 'a') + "Ω" + std::string(1000, 'b');
  CHECK(printable(text, 2002) == text);
  CHECK(printable(text, 20) == "aaaaaaaaaa [1982 bytes] bbbbbbbbbb");
  CHECK(is_utf8(printable("ΩΩΩΩΩ", 6)));
}
