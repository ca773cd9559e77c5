//! A crash test under each model of simulated files (`docs/model/file-models.md`).

use super::run::{CrashTest, TestReport, not_made};
use crate::plan::CrashModel;
use crate::report::{ModelResult, Summary, shows};

impl CrashTest {
    /// Explores under each model. Returns the summary of the first one.
    pub(super) fn explore_each(&self) -> Result<Summary, String> {
        let explore = |model| self.explore_under(model);
        let results = CrashModel::ALL.map(explore).into_iter().collect::<Result<Vec<_>, _>>();
        let mut results = results?;
        ModelResult::note_recovery(&mut results, self.plan.crashes_recovery_commands());
        if let Some(finding) = results.iter().flat_map(ModelResult::shown).next() {
            let story = self.described(finding);
            return Err(format!("{story}\nshows {}", shows(&finding.signature, &results)));
        }
        let mut findings = results.iter().flat_map(|result| result.findings.values());
        if let Some(finding) = findings.find(|finding| !finding.by_design) {
            return Err(self.not_replayed(finding));
        }
        let summaries = results.into_iter().map(|result| self.judge(result.summary));
        let summaries = summaries.collect::<Result<Vec<_>, _>>()?;
        Ok(summaries.into_iter().next().expect("there are models"))
    }

    fn explore_under(&self, model: CrashModel) -> Result<ModelResult, String> {
        let plan = self.plan.under(&self.registry, model).map_err(|error| error.to_string())?;
        let mut report = TestReport::default();
        let summary = self.explore_plan(&plan, false, &mut report)?;
        let TestReport { findings, broken, .. } = report;
        match broken.first() {
            Some((kind, text)) if findings.is_empty() => Err(not_made(*kind, text)),
            _ => Ok(ModelResult { model, summary, findings, skips_recovery: false }),
        }
    }
}
