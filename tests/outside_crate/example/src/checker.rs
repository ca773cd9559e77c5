//! The promise of a log of lines: an appended line is there, complete and in its place.

use explode::runtime::prelude::*;

use crate::log::Log;

pub fn def() -> CheckerDef {
    CheckerDef::new("log-lines", "a line that was appended is in the log", |_| {
        Ok(Box::new(LogLines { lines: Vec::new(), durable: 0 }))
    })
}

struct LogLines {
    /// All appended lines. The last one may not be complete yet.
    lines: Vec<String>,
    /// The number of complete lines when the last append began.
    durable: usize,
}

impl Checker for LogLines {
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        let line = ["short", &"x".repeat(5000)][cx.choose(2)].to_owned();
        let log = cx.stack().engine::<Log>()?;
        self.lines.push(line.clone());
        cx.check_crashes_start(&[]);
        log.append(&line)?;
        cx.check_crashes_end(self, &[])?;
        self.durable = self.lines.len();
        Ok(())
    }

    fn check(&self, stack: &Stack, epoch: Epoch, _args: &[String]) -> Result<(), CheckError> {
        let durable = if epoch == Epoch::End { self.lines.len() } else { self.durable };
        let found = stack.engine::<Log>()?.lines()?;
        if found.len() < durable {
            let message = format!("{durable} lines were appended, {} are there", found.len());
            return Err(Violation::new(Verdict::Lost, "appended-line", message).into());
        }
        if !self.lines.starts_with(&found) {
            let message = format!("line {} is not what was appended", found.len());
            return Err(Violation::new(Verdict::Corrupt, "whole-lines", message).into());
        }
        Ok(())
    }

    fn get_sig(&self) -> Option<Vec<u8>> {
        Some(self.lines.join("\n").into_bytes())
    }

    fn check_key(&self) -> Option<Vec<u8>> {
        Some(format!("{} {}", self.durable, self.lines.join("\n")).into_bytes())
    }
}
