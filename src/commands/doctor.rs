//! `explode doctor`: what this machine has, and what to do about what it has not. Exit code 3 when
//! something is missing.

use explode_runtime::base::Exit;
use explode_runtime::report::status_line;
use explode_vm::{BuildOptions, Builder, Cache, Silent, State, VmError, doctor as look};
use serde_json::json;

use crate::cli::{DoctorArgs, Format};
use crate::guest::host::{kernel, run_error};
use crate::output;

/// Looks at the machine.
pub fn doctor(args: &DoctorArgs) -> Exit {
    match checks(args) {
        Ok(missing) => {
            if missing {
                Exit::Unsupported
            } else {
                Exit::Clean
            }
        }
        Err(error) => {
            let error = run_error(error);
            output::fail(error.exit(), error)
        }
    }
}

fn checks(args: &DoctorArgs) -> Result<bool, VmError> {
    let (cache, options) = (Cache::of_user()?, BuildOptions::of_environment()?);
    let checks = look(&Builder { cache: &cache, options: &options, progress: &Silent }, &kernel());
    for check in &checks {
        let word = match check.state {
            State::Ok => "ok",
            State::Missing => "MISSING",
            State::Slow => "slow",
            State::Later => "later",
            State::NotNeeded => "not needed",
        };
        match args.format {
            Format::Jsonl => {
                let (name, detail, remedy) = (check.name, &check.detail, &check.remedy);
                let line = json!({ "type": "check", "name": name, "state": word, "detail": detail,
                    "remedy": remedy });
                output::line(&line.to_string());
            }
            Format::Human => {
                output::line(&status_line(word, &format!("{:<14} {}", check.name, check.detail)));
                if !check.remedy.is_empty() {
                    output::line(&format!("{:27} {}", "", check.remedy));
                }
            }
        }
    }
    Ok(checks.iter().any(|check| check.state == State::Missing))
}
