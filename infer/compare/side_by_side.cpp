#include "infer/compare/side_by_side.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace cosmo::infer {

using core::Json;

namespace {

/// The last part of each path where these differ, else the paths; a repeated one gets its number.
void give_labels(std::vector<ComparedRun>& runs) {
  std::set<std::string> names;
  for (ComparedRun& run : runs) {
    std::filesystem::path path = std::filesystem::path(run.path).lexically_normal();
    if (path.filename().empty()) path = path.parent_path();
    run.path = path.string();
    run.label = path.filename().string();
  }
  std::map<std::string, std::set<std::string>> paths;
  for (const ComparedRun& run : runs) paths[run.label].insert(run.path);
  for (ComparedRun& run : runs) {
    if (paths[run.label].size() > 1 || run.label.empty() || run.label.starts_with(".")) run.label = run.path;
    std::string label = run.label;
    for (int number = 2; !names.insert(label).second; ++number)
      label = fmt::format("{} ({})", run.label, number);
    run.label = label;
  }
}

/// Sentences on runs that are one and the same.
void note_twins(const std::vector<ComparedRun>& runs, std::vector<std::string>& notes) {
  for (std::size_t r = 0; r < runs.size(); ++r) {
    for (std::size_t earlier = 0; earlier < r; ++earlier) {
      if (runs[r].id != runs[earlier].id) continue;
      notes.push_back(fmt::format("{} and {} are the same {}.", runs[earlier].label, runs[r].label,
                                  runs[r].is_training ? "training" : "predictions"));
      break;
    }
  }
}

/// What the errors of a run are of: the same universes, and parameters.
std::string judged_on(const ComparedRun& run) {
  return fmt::format("{} of {}, {}", run.universes, run.universes_id, Json(run.parameters.names).dump());
}

std::string joined(const std::vector<std::string>& labels) {
  return fmt::format("{}", fmt::join(labels, ", "));
}

/// Groups of runs whose errors can be compared with each other, by what they are of.
void note_groups(SideBySide& all) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::string>> groups;
  std::map<std::string, const ComparedRun*> firsts;
  for (const ComparedRun& run : all.runs) {
    if (run.errors.empty()) continue;
    const std::string key = judged_on(run);
    if (groups[key].empty()) {
      order.push_back(key);
      firsts[key] = &run;
    }
    groups[key].push_back(run.label);
  }
  all.comparable = order.size() <= 1;
  if (all.comparable) return;
  std::string text;
  for (const std::string& key : order) {
    const ComparedRun& first = *firsts[key];
    const std::string id = first.data_id.substr(first.data_id.find(':') + 1, 8);
    text += fmt::format("{}{}: {} of data {} ({})", text.empty() ? "" : "; ", joined(groups[key]),
                        first.universes, id, fmt::join(first.parameters.names, ", "));
  }
  all.notes.push_back(
      "Unless they are the same, universes of different datasets give errors that cannot be compared: " +
      text + ".");
}

/// The notes on single runs, each once, after the labels of those that it is on.
void note_each(SideBySide& all) {
  std::vector<std::string> notes;
  std::map<std::string, std::vector<std::string>> labels;
  for (const ComparedRun& run : all.runs) {
    for (const std::string& note : run.notes) {
      if (labels[note].empty()) notes.push_back(note);
      labels[note].push_back(run.label);
    }
  }
  for (const std::string& note : notes) all.notes.push_back(joined(labels[note]) + ": " + note);
}

/// Sentences on losses of several kinds, and on the accuracy of errors on validation universes.
void note_measures(SideBySide& all) {
  std::set<std::string> losses;
  const ComparedRun* judged = nullptr;
  for (const ComparedRun& run : all.runs) {
    losses.insert(run.loss);
    if (run.is_training && run.number > 0 && !run.errors.empty()) judged = &run;
  }
  losses.erase("");
  if (losses.size() > 1)
    all.remarks.push_back(fmt::format(
        "Losses are of different kinds ({}) and cannot be compared; errors can.", fmt::join(losses, ", ")));
  if (judged != nullptr)
    all.remarks.push_back(fmt::format(
        "Errors of trainings are of the validation universes, which chose their epoch, so they are a little too good; of {} "
        "universes, chance changes one by about {:.0f} %.",
        judged->number, 100 / std::sqrt(2.0 * judged->number)));
}

}  // namespace

SideBySide side_by_side(std::vector<ComparedRun> runs) {
  SideBySide all;
  all.runs = std::move(runs);
  give_labels(all.runs);
  all.settings = differing_settings(all.runs);
  for (const ComparedRun& run : all.runs) {
    for (const std::string& name : run.parameters.names) {
      if (std::ranges::find(all.parameters, name) == all.parameters.end()) all.parameters.push_back(name);
    }
  }
  note_groups(all);
  note_twins(all.runs, all.notes);
  note_each(all);
  note_measures(all);
  return all;
}

const ParameterError* error_of(const ComparedRun& run, const std::string& name) {
  const auto error = std::ranges::find(run.errors, name, &ParameterError::name);
  return error == run.errors.end() ? nullptr : &*error;
}

std::vector<std::size_t> smallest_errors(const SideBySide& all, const std::string& name) {
  std::vector<std::size_t> best;
  double smallest = 0;
  for (std::size_t r = 0; all.comparable && r < all.runs.size(); ++r) {
    const ParameterError* error = error_of(all.runs[r], name);
    if (error == nullptr || !error->scaled || !std::isfinite(*error->scaled)) continue;
    if (!best.empty() && *error->scaled > smallest) continue;
    if (best.empty() || *error->scaled < smallest) best.clear();
    best.push_back(r);
    smallest = *error->scaled;
  }
  return best;
}

std::vector<int> shown_epochs(const SideBySide& all, std::size_t most) {
  std::set<int> found;
  for (const ComparedRun& run : all.runs) {
    for (const CurvePoint& point : run.curve) found.insert(point.epoch);
  }
  const std::vector<int> epochs(found.begin(), found.end());
  std::set<int> shown;
  const std::size_t number = std::min(most, epochs.size());
  for (std::size_t i = 0; i < number; ++i)
    shown.insert(epochs[number == 1 ? 0 : i * (epochs.size() - 1) / (number - 1)]);
  return {shown.begin(), shown.end()};
}

std::optional<double> validation_loss(const ComparedRun& run, int epoch) {
  const auto point = std::ranges::find(run.curve, epoch, &CurvePoint::epoch);
  return point == run.curve.end() ? std::nullopt : std::optional(point->validation_loss);
}

}  // namespace cosmo::infer
