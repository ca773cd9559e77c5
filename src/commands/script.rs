//! `explode show --as sh` and `--as xfstests`: a script that shows a trace's finding without
//! explode. Exit code 2 if no script can show it, 5 if the finding is not reproduced.

use std::fs::Permissions;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use explode_runtime::base::{Exit, durable_file};
use explode_runtime::explain::SearchBounds;
use explode_runtime::plan::Registry;
use explode_runtime::report::{escaped, status_line};
use explode_runtime::script::{Reproduction, ScriptForm, ScriptRefused};

use super::trace;
use crate::cli::{Format, ShowArgs, ShowForm};
use crate::{output, outputs, workers};

/// The default bound of tests. Without a search for the critical write few are needed.
const TESTS: u64 = 200;

/// Writes the script to a folder, or prints it.
pub fn script(registry: &Registry, args: &ShowArgs) -> Exit {
    if args.format == Format::Jsonl {
        return output::fail(Exit::Usage, "--format jsonl is for --as text: a script is no JSON");
    }
    let path = args.trace.display().to_string();
    let trace = match trace::read(registry, &args.trace, args.trust) {
        Ok(trace) => trace,
        Err(exit) => return exit,
    };
    if let Some(folder) = &args.write
        && let Err(error) = std::fs::read_dir(folder)
    {
        let text = format!("--write {}: {error}; name a folder that is there", folder.display());
        return output::fail(Exit::Usage, text);
    }
    let bounds = SearchBounds { budget: None, tests: args.tests.unwrap_or(TESTS) };
    let form = match args.form {
        ShowForm::Xfstests => ScriptForm::Xfstests,
        _ => ScriptForm::Alone,
    };
    let case = match workers::case(&trace, form, bounds) {
        Ok(Ok(case)) => case,
        Ok(Err(refused)) => {
            let exit = match refused {
                ScriptRefused::Cannot(_) => Exit::Usage,
                ScriptRefused::NotSeen(_) => Exit::Diverged,
            };
            return output::fail(exit, format!("{path}: {refused}"));
        }
        Err(error) => return output::fail(error.exit(), format!("{path}: {error}")),
    };
    let files = files(&case, args, &path);
    if files.iter().any(|(_, text, _)| escaped(text) != *text) {
        let why = "the script would have control characters, which a terminal obeys";
        return output::fail(
            Exit::Usage,
            format!("{path}: {}", ScriptRefused::Cannot(why.to_owned())),
        );
    }
    let Some(folder) = &args.write else {
        // Only the test is printed. Its expected output is shown in the documentation.
        output::line(files[0].1.trim_end());
        return Exit::Clean;
    };
    for (name, text, mode) in files {
        let file = folder.join(name);
        if outputs::is_file(&args.trace, &file.canonicalize().unwrap_or_default()) {
            let text = format!("{}: this is the trace itself; name another folder", file.display());
            return output::fail(Exit::Usage, text);
        }
        if let Err(error) = write(&file, &text, mode) {
            let text = format!(
                "cannot write {}: {error}; name another folder with --write",
                file.display()
            );
            return output::fail(outputs::exit(&error), text);
        }
        output::line(&status_line("Written", &file.display().to_string()));
    }
    Exit::Clean
}

/// Returns the names, texts and permissions of the files.
fn files(case: &Reproduction, args: &ShowArgs, path: &str) -> Vec<(String, String, u32)> {
    let name = args.trace.file_stem().unwrap_or_default().to_string_lossy();
    // The suite allows letters, digits and hyphens.
    let name: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    match args.form {
        ShowForm::Xfstests => {
            let test = case.xfstest(path, &name);
            let golden = format!("{}.out", test.name);
            vec![(test.name, test.script, 0o755), (golden, test.golden, 0o644)]
        }
        _ => vec![(format!("{name}.sh"), case.shell(path), 0o755)],
    }
}

fn write(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    durable_file(path, |file| {
        file.write_all(text.as_bytes())?;
        file.set_permissions(Permissions::from_mode(mode))
    })
}
