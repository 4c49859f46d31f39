#include "train/state/history.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "nn/posterior/small_matrix.hpp"

namespace cosmo::train {

namespace {

constexpr std::size_t kScalars = 5;  ///< numbers of a row before those of the columns

}  // namespace

double averaged_loss(const std::vector<EpochMetrics>& history, std::size_t index, int epochs) {
  const std::size_t count = std::min(static_cast<std::size_t>(epochs), index + 1);
  double sum = 0;
  for (std::size_t i = index + 1 - count; i <= index; ++i) sum += history[i].validation_loss;
  return sum / static_cast<double>(count);
}

std::vector<double> to_row(const EpochMetrics& metrics) {
  std::vector<double> row = {static_cast<double>(metrics.epoch), static_cast<double>(metrics.step),
                             metrics.learning_rate, metrics.train_loss, metrics.validation_loss};
  for (const Column& column : metrics.columns)
    row.insert(row.end(), column.values.begin(), column.values.end());
  return row;
}

std::size_t width_of_rows(std::span<const Column> columns, std::size_t parameters, bool diagonals) {
  std::size_t width = kScalars;
  for (const Column& column : columns) width += diagonals ? parameters : width_of(column, parameters);
  return width;
}

EpochMetrics from_row(std::span<const double> row, std::vector<Column> columns, std::size_t parameters) {
  const bool diagonals = row.size() == width_of_rows(columns, parameters, true);
  EpochMetrics metrics{static_cast<int>(row[0]), static_cast<std::int64_t>(row[1]), row[2], row[3], row[4],
                       std::move(columns)};
  row = row.subspan(kScalars);
  for (Column& column : metrics.columns) {
    const auto values = row.first(diagonals ? parameters : width_of(column, parameters));
    row = row.subspan(values.size());
    column.values.assign(values.begin(), values.end());
    if (column.triangle) column.values = nn::rows_of(nn::triangle_of(values, parameters), parameters);
  }
  return metrics;
}

bool is_mixed(const EpochMetrics& metrics) {
  return find_values(metrics.columns, "baseline_share") != nullptr;
}

std::string history_csv(const std::vector<EpochMetrics>& history, std::span<const Column> columns,
                        const std::vector<std::string>& names) {
  const bool mixed = find_values(columns, "baseline_share") != nullptr;
  std::string text = "epoch,step,learning_rate,train_loss,validation_loss";
  for (const Column& column : columns) text += fmt::format(",{}", fmt::join(headings_of(column, names), ","));
  if (mixed) text += ",validation_loss_alone";
  text += '\n';
  for (const EpochMetrics& metrics : history) {
    text += fmt::format("{}", fmt::join(to_row(metrics), ","));
    if (mixed) text += metrics.loss_alone ? fmt::format(",{}", *metrics.loss_alone) : ",";
    text += '\n';
  }
  return text;
}

std::string describe(const EpochMetrics& metrics) {
  const std::string alone =
      metrics.loss_alone ? fmt::format("{:.4f} alone, mixed ", *metrics.loss_alone) : "";
  return fmt::format("epoch {}: loss {:.4f}, validation {}{:.4f}", metrics.epoch, metrics.train_loss, alone,
                     metrics.validation_loss);
}

}  // namespace cosmo::train
