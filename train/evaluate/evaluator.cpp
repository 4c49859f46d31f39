#include "train/evaluate/evaluator.hpp"

#include "core/error.hpp"
#include "train/evaluate/class_evaluator.hpp"
#include "train/evaluate/density_evaluator.hpp"
#include "train/evaluate/field_evaluator.hpp"
#include "train/evaluate/label_evaluator.hpp"

namespace cosmo::train {

void fail_not_finite(const dataset::SplitReader& reader, std::uint32_t sample) {
  throw core::Error(core::Fault::numeric,
                    fmt::format("The prediction of {} of the validation data is not finite: lower "
                                "--learning-rate, or look at that sample; checkpoints are as they were.",
                                reader.describe(sample)),
                    true);
}

std::unique_ptr<Evaluator> make_evaluator(const nn::Output& output, const dataset::SplitToPredict& split,
                                          dataset::BaselineLabels* baseline) {
  struct Maker {
    const nn::Output& output;
    const dataset::SplitToPredict& split;
    dataset::BaselineLabels* baseline;

    std::unique_ptr<Evaluator> operator()(const nn::Labels&) const {
      return std::make_unique<LabelEvaluator>(output, split, baseline);
    }
    std::unique_ptr<Evaluator> operator()(const nn::Density& density) const {
      return std::make_unique<DensityEvaluator>(output, density, split);
    }
    std::unique_ptr<Evaluator> operator()(const nn::Field&) const {
      return std::make_unique<FieldEvaluator>(output, split);
    }
    std::unique_ptr<Evaluator> operator()(const nn::Classes&) const {
      return std::make_unique<ClassEvaluator>(output, split);
    }
  };
  return std::visit(Maker{output, split, baseline}, output.kind());
}

Evaluation evaluate(const core::Communicator& comm, const dataset::SplitToPredict& split,
                    nn::Network& network, Evaluator& evaluator) {
  evaluator.begin();
  split.loader.start_epoch(0);
  while (const auto batch = split.loader.next()) {
    network.set_input(batch->voxels);
    evaluator.add(*batch, network.forward());
  }
  return evaluator.finish(comm);
}

}  // namespace cosmo::train
