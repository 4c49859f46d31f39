#pragma once
// What is known of the universes behind counts: parameters, initial conditions, dynamics, and how they were observed. Manifests
// carry it from suite to dataset to model as `facts`, outside of what makes their ids.

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/format/json.hpp"
#include "core/universe/length.hpp"
#include "core/universe/universe.hpp"

namespace cosmo::core {

/// One property of some universes: the range of its numbers, or all the texts that it has.
class Fact {
 public:
  Fact(double number) : Fact(number, number) {}
  Fact(double low, double high) : values_(Range{low, high}) {}
  Fact(std::string text) : values_(std::set<std::string>{std::move(text)}) {}
  Fact(const char* text) : Fact(std::string(text)) {}

  /// Adds what holds for other universes. Returns whether both are numbers or both texts; otherwise nothing changes.
  bool include(const Fact& others);
  /// Whether all values of `others` are among these: texts are equal, numbers in the range to a thousandth.
  bool covers(const Fact& others) const;
  /// Whether there are several texts, or a range of numbers.
  bool is_several() const;
  /// The number, if it is one number.
  std::optional<double> number() const;
  /// "0.7", "0.6 to 0.8", "cola", "cola or fastpm"
  std::string text() const;
  bool operator==(const Fact&) const = default;

  /// A number, [low, high], a text, or a list of texts.
  Json to_json() const;
  /// Throws Error{format} naming the fact `name` of `source` for anything else.
  static Fact parse(const Json& json, std::string_view name, const std::string& source);

 private:
  struct Range {
    double low, high;
    bool operator==(const Range&) const = default;
  };
  explicit Fact(std::set<std::string> texts) : values_(std::move(texts)) {}

  std::variant<Range, std::set<std::string>> values_;
};

/// Facts by their names, those of the command line's settings; what is not known is absent.
using Facts = std::map<std::string, Fact, std::less<>>;

/// The name of facts in JSON.
inline constexpr const char* kFactsKey = "facts";

/// Sets json[kFactsKey], unless nothing is known.
void write_facts(Json& json, const Facts& facts);
/// The facts in the stage's own fields of a manifest, or of a universe's record in it; none in those of earlier versions. Throws
/// Error{format} naming `source`.
Facts read_facts(const Json& details, const std::string& source, const char* key = kFactsKey);
/// The name of a universe's own facts in its record.
inline constexpr const char* kSettingsKey = "settings";

/// What the file of a universe states: its parameters, box, mean spacing of particles, redshift and line of sight; lengths in `unit`.
Facts facts_of(const OutputHeader& header, LengthUnit unit = LengthUnit::mpc_h);
/// What is known of the universe in a file that states `stated`. If it is still in the output it belongs to (OUTPUT/FILE, or
/// SUITE/sim-00000/FILE), that is what the manifest records, and what the file states more exactly; parameters that the manifest
/// does not record were assumed when the file was written. Throws as check_in_suite().
Facts facts_of_file(const std::filesystem::path& path, Facts stated);
/// The facts of these universes and of others together: what is known of both.
Facts joined(Facts facts, const Facts& others);
/// Sets the fact on a length of the box, by its name in its unit: "box_mpc_h", or "box_mpc" for one in Mpc.
void set_length(Facts& facts, std::string_view name, const Length& length);
/// Sets the fact on the line of sight.
void set_line_of_sight(Facts& facts, const LineOfSight& axis);

/// The names of facts known of both whose values are not among the expected.
std::vector<std::string> differing(const Facts& found, const Facts& expected);
/// The names of expected facts that are not known here.
std::vector<std::string> unstated(const Facts& found, const Facts& expected);

}  // namespace cosmo::core
