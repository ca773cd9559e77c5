//! `--junit`: the result of a run as the XML that build servers read. It has a failed case for each
//! finding and an error for each broken thing, or one passed case without both. Errors by design
//! are not findings.

use std::collections::BTreeMap;
use std::time::Duration;

use explode_runtime::base::Output;
use explode_runtime::plan::Plan;
use explode_runtime::report::{Finding, Message, Paste, brief};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use crate::output;

/// The messages of a run that the file needs.
pub struct Junit {
    target: String,
    findings: BTreeMap<String, Finding>,
    broken: Vec<String>,
    seconds: f64,
    paste: Paste,
}

impl Junit {
    /// Returns the report of a run of this plan.
    pub fn new(plan: &Plan) -> Junit {
        let (target, paste) = (plan.target.clone(), output::paste_for(plan));
        Junit { target, findings: BTreeMap::new(), broken: Vec::new(), seconds: 0.0, paste }
    }

    /// Takes one message of the run.
    pub fn add(&mut self, message: &Message) {
        match message {
            // A finding is reported again with its last count.
            Message::Finding(finding) if finding.replayed && !finding.by_design => {
                self.findings.insert(finding.id.clone(), finding.clone());
            }
            Message::Broken { kind, message, .. } => self.broken.push(kind.of(message).to_string()),
            Message::Summary(summary) => self.seconds = summary.seconds,
            _ => {}
        }
    }

    /// Records that the run could not continue.
    pub fn stopped(&mut self, why: String) {
        self.broken.push(why);
    }

    /// Writes the file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, output: Output) -> std::io::Result<()> {
        let mut suite = TestSuite::new(self.target.as_str());
        suite.set_time(Duration::try_from_secs_f64(self.seconds).unwrap_or_default());
        for finding in self.findings.values() {
            let mut failed = TestCaseStatus::non_success(NonSuccessKind::Failure);
            let replay = self.paste.command("replay", &finding.trace);
            failed
                .set_type(finding.verdict.as_str())
                .set_message(brief(&finding.message).text)
                .set_description(format!(
                    "{}\n{}, {}\n{replay}",
                    finding.message,
                    finding.when(),
                    finding.shown_by()
                ));
            suite.add_test_case(self.case(&finding.signature, failed));
        }
        for message in &self.broken {
            let mut error = TestCaseStatus::non_success(NonSuccessKind::Error);
            error.set_type("broken").set_message(message.as_str());
            suite.add_test_case(self.case("broken", error));
        }
        if suite.test_cases.is_empty() {
            suite.add_test_case(self.case(&self.target, TestCaseStatus::success()));
        }
        let mut report = Report::new("explode");
        report.add_test_suite(suite);
        let mut text = Vec::new();
        report.serialize(&mut text).map_err(std::io::Error::other)?;
        output.write(&text)
    }

    fn case(&self, name: &str, status: TestCaseStatus) -> TestCase {
        let mut case = TestCase::new(name, status);
        case.set_classname(self.target.as_str());
        case
    }
}
