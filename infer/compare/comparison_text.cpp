// A comparison on a terminal and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "infer/compare/side_by_side.hpp"

namespace cosmo::infer {

using core::Json;

namespace {

constexpr std::size_t kMostEpochs = 7, kMostSettings = 40;

/// Columns of cells, each as wide as its widest, the first on the left and others on the right.
std::string columns_text(const std::vector<std::vector<std::string>>& rows) {
  const auto width_of = [](const std::string& text) {
    return static_cast<std::size_t>(std::ranges::count_if(
        text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }));
  };
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width_of(row[c]));
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string gap(widths[c] - width_of(row[c]), ' ');
      line += c == 0 ? row[c] + gap : "  " + gap + row[c];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

std::string runs_text(const SideBySide& all) {
  std::vector<std::vector<std::string>> rows = {{"run", "network", "epochs", "chosen", "errors of"}};
  for (const ComparedRun& run : all.runs) {
    rows.push_back({run.label, run.network.empty() ? "?" : run.network,
                    run.epochs == 0 ? "?" : fmt::format("{} of {}", run.epochs_done, run.epochs),
                    run.chosen ? fmt::format("{}", *run.chosen) : "-",
                    run.universes.empty() ? "nothing yet" : run.universes});
  }
  return columns_text(rows);
}

std::string error_cell(const ParameterError* error, bool smallest) {
  if (error == nullptr || !error->scaled || !std::isfinite(*error->scaled)) return "-";
  const std::string se = error->standard_error ? fmt::format(" ± {:.3f}", *error->standard_error) : "";
  return fmt::format("{}{:.3f}{}", smallest ? "*" : "", *error->scaled, se);
}

std::string errors_text(const SideBySide& all) {
  std::vector<std::vector<std::string>> rows = {{"error"}};
  rows.front().insert(rows.front().end(), all.parameters.begin(), all.parameters.end());
  bool marked = false;
  for (std::size_t r = 0; r < all.runs.size(); ++r) {
    std::vector<std::string>& row = rows.emplace_back(std::vector{all.runs[r].label});
    for (const std::string& name : all.parameters) {
      const bool smallest = std::ranges::count(smallest_errors(all, name), r) > 0;
      marked |= smallest;
      row.push_back(error_cell(error_of(all.runs[r], name), smallest));
    }
  }
  return columns_text(rows) +
         fmt::format(
             "rms error of universes / standard deviation of the training labels: predicting their mean gives 1{}\n",
             marked ? "; * the smallest" : "");
}

/// "learning_rate  0.003: a, b; 0.001: c"
std::string settings_text(const SideBySide& all) {
  if (all.settings.empty()) return "no setting differs\n";
  std::string text = "settings that differ\n";
  std::size_t width = 0;
  const std::size_t number = std::min(all.settings.size(), kMostSettings);
  for (std::size_t s = 0; s < number; ++s) width = std::max(width, all.settings[s].name.size());
  for (std::size_t s = 0; s < number; ++s) {
    const DifferingSetting& setting = all.settings[s];
    std::vector<std::pair<std::string, std::string>> groups;
    for (std::size_t r = 0; r < all.runs.size(); ++r) {
      const std::string value = setting_text(setting.values[r]);
      const auto group = std::ranges::find(groups, value, &std::pair<std::string, std::string>::first);
      if (group == groups.end())
        groups.emplace_back(value, all.runs[r].label);
      else
        group->second += ", " + all.runs[r].label;
    }
    std::string line;
    for (const auto& [value, labels] : groups)
      line += fmt::format("{}{}: {}", line.empty() ? "" : "; ", value, labels);
    text += fmt::format("  {:<{}}  {}\n", setting.name, width, line);
  }
  if (number < all.settings.size())
    text += fmt::format("  and {} more: see --json or --html\n", all.settings.size() - number);
  return text;
}

std::string losses_text(const SideBySide& all) {
  const std::vector<int> epochs = shown_epochs(all, kMostEpochs);
  if (epochs.empty()) return "";
  std::vector<std::vector<std::string>> rows = {{"validation loss after epoch"}};
  for (const int epoch : epochs) rows.front().push_back(fmt::format("{}", epoch));
  rows.front().push_back("chosen");
  for (const ComparedRun& run : all.runs) {
    std::vector<std::string>& row = rows.emplace_back();
    row.push_back(run.loss.empty() ? run.label : fmt::format("{} ({})", run.label, run.loss));
    const auto cell = [&](const std::optional<double>& loss) {
      row.push_back(loss ? fmt::format("{:.4g}", *loss) : "-");
    };
    for (const int epoch : epochs) cell(validation_loss(run, epoch));
    cell(run.chosen ? validation_loss(run, *run.chosen) : std::nullopt);
  }
  return columns_text(rows);
}

Json number_or_null(const std::optional<double>& number) {
  return number && std::isfinite(*number) ? Json(*number) : Json();
}

Json run_json(const SideBySide& all, std::size_t r) {
  const ComparedRun& run = all.runs[r];
  Json json = {{"path", run.path},
               {"label", run.label},
               {"stage", run.is_training ? "train" : "infer"},
               {"id", run.id},
               {"complete", run.complete},
               {"epochs", run.epochs},
               {"epochs_done", run.epochs_done},
               {"chosen_epoch", run.chosen ? Json(*run.chosen) : Json()},
               {"network", run.network},
               {"loss", run.loss},
               {"parameters", run.parameters.names},
               {"universes", run.universes},
               {"data_id", run.data_id},
               {"settings", Json::object()},
               {"errors", Json::object()},
               {"history", Json::array()},
               {"notes", run.notes}};
  for (const DifferingSetting& setting : all.settings) json["settings"][setting.name] = setting.values[r];
  for (const ParameterError& error : run.errors)
    json["errors"][error.name] = {{"scaled_error", number_or_null(error.scaled)},
                                  {"scaled_error_se", number_or_null(error.standard_error)},
                                  {"rmse", number_or_null(error.rms)}};
  for (const CurvePoint& point : run.curve)
    json["history"].push_back({{"epoch", point.epoch},
                               {"train_loss", number_or_null(point.train_loss)},
                               {"validation_loss", number_or_null(point.validation_loss)},
                               {"scaled_error", number_or_null(point.scaled_error)}});
  return json;
}

}  // namespace

std::string to_text(const SideBySide& all) {
  std::string text = runs_text(all) + '\n' + errors_text(all) + '\n' + settings_text(all);
  const std::string losses = losses_text(all);
  if (!losses.empty()) text += '\n' + losses;
  std::vector<std::string> sentences = all.notes;
  sentences.insert(sentences.end(), all.remarks.begin(), all.remarks.end());
  for (const std::string& sentence : sentences)
    text += (&sentence == &sentences.front() ? "\n" : "") + sentence + '\n';
  return text;
}

Json to_json(const SideBySide& all) {
  Json json = {{"comparable", all.comparable}, {"differing", Json::array()},       {"notes", all.notes},
               {"remarks", all.remarks},       {"smallest_error", Json::object()}, {"runs", Json::array()}};
  for (const DifferingSetting& setting : all.settings) json["differing"].push_back(setting.name);
  for (const std::string& name : all.parameters) {
    const std::vector<std::size_t> best = smallest_errors(all, name);
    json["smallest_error"][name] = best.empty() ? Json() : Json(all.runs[best.front()].label);
  }
  for (std::size_t r = 0; r < all.runs.size(); ++r) json["runs"].push_back(run_json(all, r));
  return json;
}

}  // namespace cosmo::infer
