#include "core/run/stage.hpp"

#include <algorithm>
#include <vector>

#include "core/machine/memory.hpp"
#include "core/output/disk_bill.hpp"
#include "core/parallel/node_memory.hpp"
#include "core/timer.hpp"

namespace cosmo::core {

namespace {

std::string bytes_text(std::uint64_t bytes) { return format_bytes(static_cast<double>(bytes)); }

/// What is determined before a directory is touched.
struct Preview {
  OutputState there;
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

/// Finds what is there, and whether it can be continued.
void inspect(Stage& stage, Preview& preview) {
  const Communicator& comm = stage.run.comm;
  try {
    preview.there = OutputDirectory::inspect(comm, stage.target, stage.request, stage.overwrite);
    if (!preview.there.up_to_date) comm.agree([&] { stage.check(preview.there.manifest); });
  } catch (const Error& error) {
    if (!error.agreed()) throw;
    preview.there = {};
    preview.refusals.push_back(error);
  }
}

Preview make_preview(Stage& stage) {
  const Communicator& comm = stage.run.comm;
  Preview preview;
  inspect(stage, preview);
  const OutputState& there = preview.there;
  const NodeMemory nodes(comm);
  const std::uint64_t resident = resident_memory();
  if (there.up_to_date) {
    for (const FileRecord& file : there.manifest.files) preview.needs.disk += file.bytes;
  } else {
    preview.needs = stage.needs(there.manifest);
  }
  const Needs& needs = preview.needs;
  preview.memory = nodes.bill(comm.max(needs.memory - std::min(needs.memory, resident)));
  preview.memory.available = std::min(preview.memory.available, stage.run.limits.memory);
  preview.disk = disk_bill(comm, stage.target, needs.disk_missing, there.leaving);
  preview.disk.available = std::min(preview.disk.available, stage.run.limits.disk);
  if (needs.memory > 0 && !preview.memory.is_covered())
    preview.refusals.push_back(memory_shortage(needs, preview.memory));
  if (!preview.disk.is_covered()) {
    const Error shortage = disk_shortage(preview.disk, stage.target, needs.disk_cause, needs.disk_remedy);
    if (needs.disk_is_exact)
      preview.refusals.push_back(shortage);
    else
      preview.disk_doubt = shortage;
  }
  return preview;
}

Json facts_of(const Stage& stage, const Preview& preview) {
  return {{"output", stage.target},
          {"id", stage.request.id()},
          {"up_to_date", preview.there.up_to_date},
          {"memory_bytes_per_rank", preview.memory.per_rank},
          {"memory_bytes_per_node", preview.memory.per_node},
          {"memory_available_bytes", preview.memory.available},
          {"disk_bytes", preview.needs.disk},
          {"disk_bytes_to_write", preview.disk.needed},
          {"disk_bytes_to_remove", preview.there.leaving},
          {"disk_available_bytes", preview.disk.available}};
}

/// The outline with the memory and disk it takes, without a newline at the end.
std::string plan_text(const Preview& preview, const Report& outline) {
  return outline.text +
         fmt::format(
             "about {} of memory per rank; {}{} to write, {} free on disk{}",
             bytes_text(preview.memory.per_rank), preview.needs.disk_is_exact ? "" : "at most ",
             bytes_text(preview.disk.needed), bytes_text(preview.disk.available),
             preview.there.leaving > 0 ? fmt::format("; removes {}", bytes_text(preview.there.leaving)) : "");
}

void report_plan(const Stage& stage, const Preview& preview, const Report& outline, Json facts) {
  facts["dry_run"] = true;
  facts["refusals"] = Json::array();
  for (const Error& refusal : preview.refusals) {
    stage.run.log.warn("{}", refusal.what());
    facts["refusals"].push_back(refusal.what());
  }
  stage.run.report(facts, preview.there.up_to_date ? fmt::format("{} is up to date\n", stage.target)
                                                   : plan_text(preview, outline) + "\n");
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
  const Preview preview = make_preview(stage);
  const Report outline = preview.there.up_to_date ? stage.found(preview.there.manifest) : stage.outline();
  Json facts = facts_of(stage, preview);
  facts.update(outline.facts);
  if (preview.disk_doubt) run.log.warn("{}", preview.disk_doubt->what());
  if (run.options.flag("dry-run")) return report_plan(stage, preview, outline, facts);
  if (!preview.refusals.empty()) throw preview.refusals.front();

  OutputDirectory output(run.comm, run.log, stage.target, stage.request, stage.overwrite, stage.slice);
  facts["up_to_date"] = output.up_to_date();
  if (!output.up_to_date()) run.log.info("{}", plan_text(preview, outline));
  const bool found = output.up_to_date() && preview.there.up_to_date;  // and its warnings are printed
  const Report made = found                 ? outline
                      : output.up_to_date() ? stage.found(output.manifest())
                                            : make(stage, output);
  facts["complete"] = !made.ending;
  facts.update(made.facts);
  facts["peak_rss_bytes"] = run.comm.max(peak_resident_memory());
  facts["seconds"] = timer.seconds();
  run.report(facts, (output.up_to_date() ? fmt::format("{} is up to date\n", stage.target) : "") + made.text);
  if (made.ending) throw *made.ending;
}

}  // namespace cosmo::core
