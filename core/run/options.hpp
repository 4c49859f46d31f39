#pragma once
// The command line and INI files of every tool: declared once, read by name, checked strictly.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/named.hpp"

namespace cosmo::core {

/// Titles of groups that --help lists before all others and after them.
inline constexpr const char* kEveryDay = "Every day";
inline constexpr const char* kForExperts = "For experts";

/// Stands between the values of a list in Options.
inline constexpr char kBetweenValues = '\0';

/// The options of one command: first declared (add_*), then parsed, then read by name.
/// Reading a value of the wrong type throws Error{usage} naming the option.
class Options {
 public:
  /// Begins a group of options, which --help lists under this title, or adds to it.
  void begin_group(std::string title);
  /// Declares an option that takes a value, one of `choices` if it is read by choice() or entry(). `usage` is its
  /// name and how help shows the value, as "epochs N"; N is a whole number, X a number, and values with FILE or
  /// DIR are completed to files. With choices the name alone means "NAME". The value "on|off" makes a switch, whose bare
  /// name on the command line means on; that of a value in brackets, as "[SECONDS]", means the default. A value that
  /// ends in " ..." makes a list, read by texts(): all words up to the next option belong to it, and it may be given
  /// several times. Without a default an option is required, unless checked with given().
  void add(const std::string& usage, std::optional<std::string> default_value, std::string help,
           std::vector<std::string> choices = {});
  /// Declares an option without a value, which is present or not.
  void add_flag(std::string name, std::string help);
  /// Declares the one value that is given on the command line without a name.
  void add_positional(const std::string& name, std::string help);
  /// Declares values that are given on the command line without a name, one or more: read by texts().
  void add_positionals(const std::string& name, std::string help);
  /// Declares options of earlier versions that `replacement` has replaced, up to the version `gone_in`, which no longer has
  /// them. parse() accepts them with a warning, and gives `replacement` the value that `translate` returns; --help does not list
  /// them. `usages` as in add(); a name alone is a flag, and "save both" a former value of the replacement --save.
  /// `translate` sees the options with their defaults, throws as reading them does, and has no other effect.
  void add_former(const std::vector<std::string>& usages, const std::string& replacement, std::string gone_in,
                  std::function<std::string(const Options&)> translate);

  /// Reads the words of a command line, then the INI file that --config names, whose keys are the options'
  /// names; the command line wins. Throws Error{usage}, also for a file that is not text, or Error{io} for
  /// one that cannot be read.
  void parse(const std::vector<std::string>& words);
  /// A sentence on the former options and values that the user chose, for each replacement.
  const std::vector<std::string>& warnings() const { return warnings_; }

  bool given(const std::string& name) const { return values_.contains(name); }   ///< by the user or a default
  bool chosen(const std::string& name) const { return chosen_.contains(name); }  ///< by the user
  /// Throws Error{usage} naming the first option other than `names` that the user chose, on the command line
  /// or in the file; `purpose` is what that option does not concern, such as "--benchmark".
  void refuse_all_but(const std::set<std::string>& names, const std::string& purpose) const;
  bool flag(const std::string& name) const;
  const std::string& text(const std::string& name) const;
  /// All words of a list or of add_positionals(). Throws Error{usage} as text() does, for each.
  std::vector<std::string> texts(const std::string& name) const;
  bool is_on(const std::string& name) const;     ///< value of a switch
  double number(const std::string& name) const;  ///< a finite number
  /// A finite number, or "off", which stands for another.
  double number_or_off(const std::string& name, double off) const;
  /// Finite numbers separated by commas.
  std::vector<double> numbers(const std::string& name) const;
  /// A whole number low … high, limits that need at most 63 bits. Throws Error{config} if it is outside.
  std::int64_t integer(const std::string& name, std::int64_t low, std::int64_t high) const;
  /// A whole number from 0 to kSeedLimit - 1.
  std::uint64_t seed(const std::string& name) const;
  /// One of the choices declared for it.
  const std::string& choice(const std::string& name) const;
  /// A value "NAME" or "NAME:VALUE" whose NAME is one of the choices.
  struct NamedValue {
    std::string name;
    std::optional<std::string> value;
  };
  NamedValue named_value(const std::string& name) const;
  /// The row that the option selects in `table`, whose names are its choices; rows are core::Named or have a
  /// `name`.
  template <class Table>
  const auto& entry(const std::string& name, const Table& table) const {
    return row_called(table, choice(name), "--" + name);
  }
  /// "LOW:HIGH", or one number for both.
  std::pair<double, double> range(const std::string& name) const;
  /// "I:J", whole numbers with 0 <= I < J <= size.
  std::pair<std::int64_t, std::int64_t> interval(const std::string& name, std::int64_t size) const;

  /// A copy of these options with values for those that were not given.
  Options with_defaults(const std::map<std::string, std::string>& values) const;

  /// An option as it was declared.
  struct Declaration {
    std::string name;
    std::string value = {};  ///< how help shows the value, as "N"; empty: it takes none
    std::optional<std::string> default_value = {};
    std::string help = {};
    bool is_positional = false;
    bool is_list = false;                   ///< several words
    std::vector<std::string> choices = {};  ///< names of values; empty: none
    std::string group = {};                 ///< title, or empty

    bool takes_value() const { return !value.empty(); }
    bool is_switch() const { return value == "on|off"; }
    /// What the name alone means on the command line, if it may stand alone there.
    std::optional<std::string> bare() const {
      if (is_switch()) return "on";
      return value.starts_with('[') ? default_value : std::nullopt;
    }
    bool takes_file() const;          ///< whether the value names a file or a directory
    std::string usage() const;        ///< "--grid N", as --help begins its line
    std::string description() const;  ///< what --help prints beside that, with the default
  };
  /// Group by group: kEveryDay, those in between in the order in which they were begun, kForExperts.
  const std::vector<Declaration>& declarations() const { return declarations_; }

  /// The option list of --help.
  std::string help() const;

 private:
  /// Options of earlier versions.
  struct Former {
    std::vector<Declaration> options = {};
    std::optional<std::string> value = {};  ///< one that the replacement had
    std::string replacement;
    std::string gone_in;
    std::function<std::string(const Options&)> translate;
  };

  void declare(Declaration declaration);
  const Declaration& declaration(const std::string& name) const;
  void ensure_choice(const std::string& name, const std::string& chosen) const;
  std::vector<Declaration> accepted() const;
  void replace_former(const Former& former);
  std::vector<std::string> complete(const std::vector<std::string>& words) const;
  std::vector<std::string> name_listed(const std::vector<std::string>& words) const;
  void read_config(const std::string& path);

  std::vector<std::string> groups_;  ///< in the order in which they were begun
  std::string group_;                ///< group of the options declared next
  std::vector<Declaration> declarations_;
  std::vector<Former> former_;
  std::vector<std::string> warnings_;
  std::map<std::string, std::string> values_;
  std::set<std::string> chosen_;
};

/// The number that all of `text`, a part of what was typed, represents. Throws Error{usage} naming `what` and
/// quoting `typed`, everything that was typed.
double parse_number(std::string_view text, std::string_view what, std::string_view typed);
/// The whole number low … high that all of `text` represents. Throws Error{usage}, or Error{config} if it is outside.
std::int64_t parse_integer(std::string_view text, std::string_view what, std::int64_t low, std::int64_t high);

}  // namespace cosmo::core
