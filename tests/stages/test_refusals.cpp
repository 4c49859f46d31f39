#include "tests/stages/refusals.hpp"

using namespace cosmo;

TEST_CASE("what cannot be done is refused in one sentence") {
  const Made made;
  refuse_words(made);
  refuse_values_of_universes(made);
  refuse_cuts(made);
  refuse_values_of_trainings(made);
  refuse_tables_of_the_spectrum(made);
  refuse_designs(made);
  refuse_inputs_that_are_missing(made);
  refuse_the_output_of_another_run(made);
  refuse_damaged_inputs(made);
  refuse_data_that_do_not_fit_the_model(made);
  refuse_damaged_outputs(made);
  refuse_what_stands_in_the_way(made);
  refuse_to_replace_files_by_networks(made);
}
