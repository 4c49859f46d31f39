#include "core/run/stage.hpp"

#include <algorithm>
#include <vector>

#include "core/memory.hpp"
#include "core/output/disk_bill.hpp"
#include "core/parallel/node_memory.hpp"
#include "core/timer.hpp"

namespace cosmo::core {

namespace {

std::string bytes_text(std::uint64_t bytes) { return format_bytes(static_cast<double>(bytes)); }

/// What is determined before a directory is touched.
struct Survey {
  Manifest there;
  bool up_to_date = false;
  std::uint64_t leaving = 0;  ///< bytes of existing files that the run removes
  Needs needs;
  MemoryBill memory;
  DiskBill disk;
  std::vector<Error> refusals;      ///< the first one ends a real run, on all ranks
  std::optional<Error> disk_doubt;  ///< the disk may not suffice
};

Error memory_shortage(const Needs& needs, const MemoryBill& bill) {
  return Error(Fault::config,
               fmt::format("{} about {} of memory on a node that has {} available: {}, or use more nodes.",
                           needs.memory_cause, bytes_text(bill.per_node), bytes_text(bill.available),
                           needs.memory_remedy),
               true);
}

Holding look(Stage& stage, Survey& survey) {
  try {
    return OutputDirectory::look(stage.run.comm, stage.target, stage.request, stage.overwrite);
  } catch (const Error& error) {
    if (!error.agreed()) throw;
    survey.refusals.push_back(error);
    return {};
  }
}

Survey make_survey(Stage& stage) {
  const Communicator& comm = stage.run.comm;
  Survey survey;
  const Holding there = look(stage, survey);
  survey.there = there.manifest;
  survey.up_to_date = there.up_to_date;
  survey.leaving = there.leaving;
  const NodeMemory nodes(comm);
  const std::uint64_t resident = resident_memory();
  if (there.up_to_date) {
    for (const FileRecord& file : there.manifest.files) survey.needs.disk += file.bytes;
  } else {
    survey.needs = stage.needs(there.manifest);
  }
  const Needs& needs = survey.needs;
  survey.memory = nodes.bill(comm.max(needs.memory - std::min(needs.memory, resident)));
  survey.memory.available = std::min(survey.memory.available, stage.run.limits.memory);
  survey.disk = disk_bill(comm, stage.target, needs.disk_missing, survey.leaving);
  survey.disk.available = std::min(survey.disk.available, stage.run.limits.disk);
  if (needs.memory > 0 && !survey.memory.is_covered())
    survey.refusals.push_back(memory_shortage(needs, survey.memory));
  if (!survey.disk.is_covered()) {
    const Error shortage = disk_shortage(survey.disk, stage.target, needs.disk_cause, needs.disk_remedy);
    if (needs.disk_is_exact)
      survey.refusals.push_back(shortage);
    else
      survey.disk_doubt = shortage;
  }
  return survey;
}

Json facts_of(const Stage& stage, const Survey& survey) {
  return {{"output", stage.target},
          {"id", stage.request.id()},
          {"up_to_date", survey.up_to_date},
          {"memory_bytes_per_rank", survey.memory.per_rank},
          {"memory_bytes_per_node", survey.memory.per_node},
          {"memory_available_bytes", survey.memory.available},
          {"disk_bytes", survey.needs.disk},
          {"disk_bytes_to_write", survey.disk.needed},
          {"disk_bytes_to_remove", survey.leaving},
          {"disk_available_bytes", survey.disk.available}};
}

/// The outline with the memory and disk it takes, without a newline at the end.
std::string plan_text(const Survey& survey, const Report& outline) {
  return outline.text +
         fmt::format("about {} of memory per rank; {}{} to write, {} free on disk{}",
                     bytes_text(survey.memory.per_rank), survey.needs.disk_is_exact ? "" : "at most ",
                     bytes_text(survey.disk.needed), bytes_text(survey.disk.available),
                     survey.leaving > 0 ? fmt::format("; removes {}", bytes_text(survey.leaving)) : "");
}

void report_plan(const Stage& stage, const Survey& survey, const Report& outline, Json facts) {
  facts["dry_run"] = true;
  facts["refusals"] = Json::array();
  for (const Error& refusal : survey.refusals) {
    stage.run.log.warn("{}", refusal.what());
    facts["refusals"].push_back(refusal.what());
  }
  stage.run.report(facts, survey.up_to_date ? fmt::format("{} is up to date\n", stage.target)
                                            : plan_text(survey, outline) + "\n");
}

/// What was made, or how it was stopped.
Report make(Stage& stage, OutputDirectory& output) {
  try {
    return stage.make(output);
  } catch (const Error& error) {
    if (error.fault() != Fault::stopped || !error.agreed()) throw;
    return {Json::object(), "", error};
  }
}

}  // namespace

Stage::Stage(const Invocation& invocation) : run(invocation) {
  run.comm.agree([&] {
    target = run.options.text("output");
    overwrite.force = run.options.flag("force");
  });
}

void run_stage(Stage& stage) {
  const Timer timer;
  const Invocation& run = stage.run;
  const Survey survey = make_survey(stage);
  const Report outline = survey.up_to_date ? Report{stage.found(survey.there), ""} : stage.outline();
  Json facts = facts_of(stage, survey);
  facts.update(outline.facts);
  if (survey.disk_doubt) run.log.warn("{}", survey.disk_doubt->what());
  if (run.options.flag("dry-run")) return report_plan(stage, survey, outline, facts);
  if (!survey.refusals.empty()) throw survey.refusals.front();

  OutputDirectory output(run.comm, run.log, stage.target, stage.request, stage.overwrite, stage.slice);
  facts["up_to_date"] = output.up_to_date();
  if (!output.up_to_date()) run.log.info("{}", plan_text(survey, outline));
  const Report made = output.up_to_date() ? Report{stage.found(output.manifest()), ""} : make(stage, output);
  facts["complete"] = !made.ending;
  facts.update(made.facts);
  facts["peak_rss_bytes"] = run.comm.max(peak_resident_memory());
  facts["seconds"] = timer.seconds();
  run.report(facts, output.up_to_date() ? fmt::format("{} is up to date\n", stage.target) : made.text);
  if (made.ending) throw *made.ending;
}

}  // namespace cosmo::core
