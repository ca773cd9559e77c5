//! `explode doctor`: checks this machine's requirements and says how to meet them. Exit code 3 if
//! one is missing.

use std::fs;
use std::path::{Path, PathBuf};

use explode_runtime::base::Exit;
use explode_runtime::report::status_line;
use explode_vm::{
    BuildOptions, Builder, Cache, Requirement, RequirementState, Silent, VmError, doctor as look,
};
use serde_json::json;

use crate::cli::{DoctorArgs, Format};
use crate::guest::host::{kernel, run_error};
use crate::output;

/// Checks the machine and prints the result.
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
    let mut checks =
        look(&Builder { cache: &cache, options: &options, progress: &Silent }, &kernel());
    checks.push(libclang(Path::new("/usr/lib")));
    for check in &checks {
        let word = match check.state {
            RequirementState::Ok => "ok",
            RequirementState::Missing => "MISSING",
            RequirementState::Slow => "slow",
            RequirementState::Later => "later",
            RequirementState::NotNeeded => "not needed",
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
    Ok(checks.iter().any(|check| check.state == RequirementState::Missing))
}

/// Looks in `/usr/lib` for libclang and the headers of the same version.
fn libclang(lib: &Path) -> Requirement {
    const USE: &str = "only a build with --features engines needs it";
    let mut folders = subfolders(lib).into_iter().map(|folder| folder.join("lib"));
    let found = folders.find(|folder| {
        let has_headers = |version: &PathBuf| version.join("include/stdbool.h").exists();
        folder.join("libclang.so.1").exists()
            && subfolders(&folder.join("clang")).iter().any(has_headers)
    });
    let (state, detail, remedy) = match found {
        Some(folder) => (RequirementState::Ok, format!("in {}", folder.display()), ""),
        None => (
            RequirementState::NotNeeded,
            format!("not found with its headers in {}; {USE}", lib.display()),
            "run as root: scripts/setup; or set LIBCLANG_PATH for the build",
        ),
    };
    Requirement { name: "libclang", state, detail, remedy: remedy.to_owned() }
}

/// Returns the entries of a folder in the order of their names. Returns an empty list if the folder
/// cannot be read.
fn subfolders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libclang_counts_only_with_the_headers_beside_it() {
        let lib = tempfile::tempdir().unwrap();
        let state = || libclang(lib.path()).state;
        let write = |name: &str| {
            let path = lib.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        };
        assert_eq!(state(), RequirementState::NotNeeded);
        write("llvm-14/lib/libclang.so.1");
        assert_eq!(state(), RequirementState::NotNeeded, "no headers");
        write("llvm-19/lib/clang/19/include/stdbool.h");
        assert_eq!(state(), RequirementState::NotNeeded, "the headers of another version");
        write("llvm-14/lib/clang/14.0.6/include/stdbool.h");
        assert_eq!(state(), RequirementState::Ok);
    }
}
