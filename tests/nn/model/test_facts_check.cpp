#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "nn/model/facts_check.hpp"

using namespace cosmo;

namespace {

/// A model of omega_m from 0.2 to 0.4.
nn::ModelManifest model(const core::Facts& facts) {
  nn::ModelManifest model{};
  model.parameters.add("omega_m", 0.2, 0.4);
  model.facts = facts;
  return model;
}

nn::FactsCheck check(const std::vector<nn::ModelManifest>& models, const core::Facts& found,
                     nn::Learned learned = nn::Learned::compared) {
  const std::vector<std::string> directories = {"one", "two", "three"};
  const nn::NamedFacts named{"one", found};
  return nn::check_facts(models, std::span(directories).first(models.size()), std::span(&named, 1), "data",
                         learned);
}

constexpr const char* kEnd = ": the predictions may be further off than their errors state.";

}  // namespace

TEST_CASE("universes are compared with those of the model's training, by name") {
  const nn::ModelManifest trained =
      model({{"omega_m", {0.2, 0.4}}, {"h", 0.7}, {"steps", {5, 10}}, {"redshift", 0.0}});
  CHECK(check({trained}, {{"omega_m", 0.3}, {"h", 0.7}, {"steps", 5}, {"redshift", 0.0}}).warnings.empty());
  const nn::FactsCheck differs =
      check({trained}, {{"omega_m", 0.5}, {"h", 0.6}, {"steps", 20}, {"redshift", 1e-4}});
  const std::string in_training = " in the model's training universes" + std::string(kEnd);
  CHECK(differs.warnings == std::vector<std::string>{"h is 0.6 in data and 0.7" + in_training,
                                                     "omega_m is 0.5 in data and 0.2 to 0.4" + in_training,
                                                     "steps is 20 in data and 5 to 10" + in_training});
  CHECK(differs.remark.empty());
  CHECK(check({trained}, {{"omega_m", {0.3, 0.5}}, {"h", 0.7}}, nn::Learned::left_out).warnings.empty());
}

TEST_CASE("what is not known is not compared, and a remark names it") {
  const nn::FactsCheck lone = check({model({{"h", 0.7}, {"f_nl", 0}, {"steps", 10}})}, {{"h", 0.7}});
  CHECK(lone.unstated == std::vector<std::string>{"f_nl", "steps"});
  CHECK(lone.remark ==
        "Not stated by data: f_nl, steps. Whether that is as in the training universes was not checked.");
  const nn::FactsCheck earlier = check({model({})}, {{"h", 0.7}, {"omega_m", 0.5}});
  CHECK(earlier.warnings.size() == 1);  // its range of what it predicts is known
  CHECK(earlier.remark.starts_with("The model records no facts"));
  CHECK(check({model({})}, {}).remark.empty());
}

TEST_CASE("each of several universes is compared in what is known of it") {
  const std::vector<nn::ModelManifest> models = {model({{"h", 0.7}, {"f_nl", 0}})};
  const std::vector<std::string> directories = {"one"};
  const std::vector<nn::NamedFacts> universes = {
      {"first", {{"h", 0.7}, {"f_nl", 500}}}, {"second", {{"h", 0.6}}}, {"third", {{"h", 0.5}, {"f_nl", 0}}}};
  const nn::FactsCheck several =
      nn::check_facts(models, directories, universes, "data", nn::Learned::compared);
  const std::string in_training = " in the model's training universes" + std::string(kEnd);
  CHECK(several.warnings ==
        std::vector<std::string>{"f_nl is 500 in first and 0" + in_training,
                                 "h is 0.5 to 0.6 in second, third and 0.7" + in_training});
  CHECK(several.unstated == std::vector<std::string>{"f_nl"});
}

TEST_CASE("all models of an ensemble are compared, and those that differ are named") {
  const nn::ModelManifest one = model({{"h", 0.7}, {"steps", 10}}), two = model({{"h", 0.7}, {"steps", 5}});
  const core::Facts found = {{"h", 0.6}, {"steps", 5}};
  CHECK(check({one, two, one}, found).warnings ==
        std::vector<std::string>{
            "h is 0.6 in data and 0.7 in the models' training universes" + std::string(kEnd),
            "steps is 5 in data and 10 in the training universes of one, three" + std::string(kEnd)});
}
