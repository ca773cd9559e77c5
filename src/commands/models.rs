//! `explode run --each-model`: explores a target under each model of simulated files. A finding
//! tells under which of them it shows (`docs/model/file-models.md`).

use std::collections::{BTreeMap, BTreeSet};

use explode_runtime::base::{Exit, RunError};
use explode_runtime::plan::{CrashModel, Plan, Registry};
use explode_runtime::report::{
    Appearance, Colour, Finding, Line, Message, ModelResult, detail_line, shows,
};
use serde_json::json;

use super::{quiet, run};
use crate::cli::{Format, RunArgs};
use crate::{interrupt, output, required_programs};

/// Explores the target under each model.
pub fn models(registry: &Registry, args: &RunArgs) -> Exit {
    match plans(registry, args).and_then(|plans| explore(&plans, args)) {
        Err(error) => run::refused(&error, args.format),
        Ok(explored) => {
            match args.format {
                Format::Jsonl => output::line(&explored.json().to_string()),
                Format::Human => explored.lines().iter().for_each(|line| output::line(line)),
            }
            explored.exit(args.require_complete)
        }
    }
}

/// Returns the plan of each model.
fn plans(registry: &Registry, args: &RunArgs) -> Result<Vec<(CrashModel, Plan)>, RunError> {
    quiet::check_options(args, "--each-model makes one for each model")?;
    let plan = run::plan(registry, args)?;
    let under = |model| {
        // Each run has a folder of its own.
        let target = format!("{}-{model}", plan.target);
        Ok((model, Plan { target, ..plan.under(registry, model)? }))
    };
    let plans = CrashModel::ALL.map(under).into_iter().collect::<Result<Vec<_>, RunError>>()?;
    for (_, plan) in &plans {
        plan.check(registry)?;
        run::check_jobs(plan, args.jobs)?;
        required_programs::check(plan)?;
    }
    Ok(plans)
}

/// Explores the plans one after the other, until the user interrupts.
fn explore(plans: &[(CrashModel, Plan)], args: &RunArgs) -> Result<ExploredModels, RunError> {
    let (mut results, mut broken) = (Vec::new(), Vec::new());
    for (model, plan) in plans {
        let mut findings = BTreeMap::new();
        let mut listen = |message: &Message| {
            ModelResult::add(&mut findings, message);
            if let Message::Broken { message, .. } = message {
                broken.push((*model, message.clone()));
            }
        };
        let summary = quiet::explore(plan, args.jobs, &mut listen)?;
        let result = ModelResult { model: *model, summary, findings, skips_recovery: false };
        if args.format == Format::Human {
            output::line(&extent(&result));
        }
        results.push(result);
        if interrupt::is_requested() {
            break;
        }
    }
    let recovers = plans.iter().any(|(_, plan)| plan.crashes_recovery_commands());
    ModelResult::note_recovery(&mut results, recovers);
    let plan = plans[0].1.clone();
    Ok(ExploredModels { results, broken, plan })
}

/// Returns the line of a model.
fn extent(result: &ModelResult) -> String {
    let summary = &result.summary;
    let depth = if summary.complete { "all" } else { "some" };
    let count = result.shown().count();
    let plural = if count == 1 { "" } else { "s" };
    let text = format!(
        "{count} finding{plural}; {} crash disks, {} checked, {depth}; {:.1} s",
        summary.crash_disks,
        summary.disks_checked(),
        summary.seconds
    );
    Line::status(result.model.as_str(), &text).plain()
}

/// The results of all models.
struct ExploredModels {
    results: Vec<ModelResult>,
    /// The failures of the tool or a component.
    broken: Vec<(CrashModel, String)>,
    /// The plan of the first model.
    plan: Plan,
}

impl ExploredModels {
    /// Returns the signatures of all findings.
    fn signatures(&self) -> BTreeSet<&str> {
        self.results.iter().flat_map(|result| result.findings.keys()).map(String::as_str).collect()
    }

    /// Returns the finding of a signature under the model that loses least. `None` if no replay has
    /// reproduced it, or if it is by design.
    fn strictest(&self, signature: &str) -> Option<&Finding> {
        let mut shown = self.results.iter().rev().flat_map(ModelResult::shown);
        shown.find(|finding| finding.signature == signature)
    }

    fn lines(&self) -> Vec<String> {
        let line = |word: &str, colour: Colour, text: &str| {
            Line::status(word, text).coloured(colour).shown(output::colour())
        };
        let mut lines = Vec::new();
        for signature in self.signatures() {
            let shows = shows(signature, &self.results);
            let Some(finding) = self.strictest(signature) else {
                lines.push(line("UNCONFIRMED", Colour::Yellow, signature));
                lines.push(detail_line("shows", &shows));
                continue;
            };
            let text = format!("{}: {}", finding.verdict, finding.message);
            lines.push(line("FAIL", Colour::Red, &text));
            lines.push(detail_line("shows", &shows));
            lines.push(detail_line("bug", &format!("{}  {signature}", finding.id)));
            let replay = output::paste_for(&self.plan).command("replay", &finding.trace);
            lines.push(detail_line("replay", &replay));
        }
        for (model, why) in &self.broken {
            lines.push(line("BROKEN", Colour::Yellow, &format!("under {model}: {why}")));
        }
        let missing = CrashModel::ALL.into_iter().skip(self.results.len());
        let missing: Vec<_> = missing.map(CrashModel::as_str).collect();
        if !missing.is_empty() {
            let text = format!("stopped; not explored under {}", missing.join(", "));
            lines.push(line("Summary", Colour::Yellow, &text));
        }
        lines
    }

    fn json(&self) -> serde_json::Value {
        let models = self.results.iter().map(|result| {
            let findings: Vec<_> = result.findings.values().collect();
            let model = json!({ "summary": result.summary, "findings": findings });
            (result.model.to_string(), model)
        });
        let findings = self.signatures().into_iter().map(|signature| {
            let models = |wanted: fn(Appearance) -> bool| {
                let results = self.results.iter();
                let found = results.filter(move |result| wanted(result.appearance(signature)));
                found.map(|result| result.model.to_string()).collect::<Vec<_>>()
            };
            json!({
                "signature": signature,
                "message": self.strictest(signature).map(|finding| &finding.message),
                "shows": shows(signature, &self.results),
                "under": models(|is| is == Appearance::Shown),
                "not_under": models(|is| is == Appearance::Absent),
            })
        });
        let broken = self.broken.iter();
        let broken =
            broken.map(|(model, why)| json!({ "model": model.to_string(), "message": why }));
        json!({
            "type": "models",
            "models": models.collect::<serde_json::Map<_, _>>(),
            "findings": findings.collect::<Vec<_>>(),
            "broken": broken.collect::<Vec<_>>(),
        })
    }

    fn exit(&self, require_complete: bool) -> Exit {
        let is_complete = self.results.len() == CrashModel::ALL.len()
            && self.results.iter().all(|result| result.summary.complete);
        let is_broken = self.results.iter().any(|result| !result.summary.broken.is_zero());
        if self.signatures().iter().any(|signature| self.strictest(signature).is_some()) {
            Exit::Findings
        } else if is_broken {
            Exit::Broken
        } else if require_complete && !is_complete {
            Exit::Incomplete
        } else {
            Exit::Clean
        }
    }
}
