#include "core/format/json.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "core/error.hpp"
#include "core/file/input_file.hpp"
#include "core/printable.hpp"

namespace cosmo::core {

namespace {

constexpr std::size_t kLongestJson = std::size_t{1} << 28;  ///< enough for a manifest of 400,000 universes
constexpr std::size_t kDeepest = 100;  ///< levels of nesting; each costs stack when the values are traversed

/// Looks for what the library's parser lets pass: values nested too deep, and members that occur twice, of which
/// it keeps the last. A callback of the parser could do it too, but with one it takes time quadratic in an array's
/// length.
class Inspector : public Json::json_sax_t {
 public:
  explicit Inspector(std::string_view text) : text_(text) {}

  /// What is wrong with the text, as the end of a sentence; empty if it is sound.
  const std::string& flaw() const { return flaw_; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(Json::number_integer_t) override { return true; }
  bool number_unsigned(Json::number_unsigned_t) override { return true; }
  bool number_float(Json::number_float_t, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(Json::binary_t&) override { return true; }
  bool start_object(std::size_t) override { return enter(); }
  bool end_object() override { return leave(); }
  bool start_array(std::size_t) override { return enter(); }
  bool end_array() override { return leave(); }

  bool key(std::string& name) override {
    if (!levels_.back().members.insert(name).second)
      flaw_ = fmt::format("has the member \"{}\" twice {}", name, place());
    levels_.back().latest = name;
    return flaw_.empty();
  }

  bool parse_error(std::size_t position, const std::string&, const Json::exception&) override {
    const std::string_view read = text_.substr(0, position);
    const std::size_t line = read.substr(0, read.find_last_of('\n') + 1).size();
    flaw_ = fmt::format("is not valid JSON at line {}, column {}", 1 + std::ranges::count(read, '\n'),
                        std::max<std::size_t>(read.size() - line, 1));
    return false;
  }

 private:
  /// An object or array that has begun.
  struct Level {
    std::set<std::string> members;
    std::string latest;
  };

  bool enter() {
    levels_.emplace_back();
    if (levels_.size() > kDeepest) flaw_ = "has values nested too deep";
    return flaw_.empty();
  }
  bool leave() {
    levels_.pop_back();
    return true;
  }

  /// Where the object read last is: in the value of which member.
  std::string place() const {
    for (std::size_t level = levels_.size() - 1; level > 0; --level) {
      if (const std::string& name = levels_[level - 1].latest; !name.empty())
        return fmt::format("in \"{}\"", name);
    }
    return "at its top";
  }

  std::string_view text_;
  std::vector<Level> levels_;
  std::string flaw_;
};

std::string flaw_of(std::string_view text) {
  Inspector inspector(text);
  (void)Json::sax_parse(text, &inspector);
  return inspector.flaw();
}

}  // namespace

Json parse_json(std::string_view text) {
  const std::string flaw = flaw_of(text);
  if (!flaw.empty()) throw Json::other_error::create(501, "the text " + flaw, nullptr);
  return Json::parse(text);
}

std::string read_json_text(const std::filesystem::path& path) { return read_text(path, kLongestJson); }

Json parse_json_file(const std::string& text, const std::filesystem::path& path) {
  const std::string flaw = flaw_of(text);
  ensure(flaw.empty(), Fault::format,
         "{} {}: correct or restore it, or write it again with the tool that made it.", path.string(), flaw);
  return Json::parse(text);
}

Json read_json(const std::filesystem::path& path) { return parse_json_file(read_json_text(path), path); }

void reading_json(const std::string& source, const std::function<void()>& read) {
  try {
    read();
  } catch (const Json::exception& error) {
    fail(Fault::format,
         "{} lacks a value or has one of another type ({}): write it again with the tool that made it.",
         source, error.what());
  } catch (const Error& error) {
    const std::string sentence = error.what();
    if (error.fault() != Fault::format || error.agreed() ||
        sentence.find(one_line(source)) != std::string::npos)
      throw;
    fail(Fault::format, "{}: {}", source, sentence);
  }
}

}  // namespace cosmo::core
