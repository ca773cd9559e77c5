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
use explode_runtime::trace::Trace;

use super::{folder_script, trace};
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
    let files = if args.form == ShowForm::Sh && folder_script::is_on_files(&trace) {
        folder_script::script(&trace, &path)
            .map(|text| vec![(format!("{}.sh", name(args)), text, 0o755)])
    } else {
        reproduction(&trace, args, &path)
    };
    let files = match files {
        Ok(files) => files,
        Err(exit) => return exit,
    };
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

/// A file to write: its name, text and permissions.
type Written = (String, String, u32);

/// Replays the trace and returns the files of its form.
fn reproduction(trace: &Trace, args: &ShowArgs, path: &str) -> Result<Vec<Written>, Exit> {
    let bounds = SearchBounds { budget: None, tests: args.tests.unwrap_or(TESTS) };
    let form = match args.form {
        ShowForm::Xfstests => ScriptForm::Xfstests,
        _ => ScriptForm::Alone,
    };
    match workers::case(trace, form, bounds) {
        Ok(Ok(case)) => Ok(files(&case, args, path)),
        Ok(Err(refused)) => {
            let exit = match refused {
                ScriptRefused::Cannot(_) => Exit::Usage,
                ScriptRefused::NotSeen(_) => Exit::Diverged,
            };
            Err(output::fail(exit, format!("{path}: {refused}")))
        }
        Err(error) => Err(output::fail(error.exit(), format!("{path}: {error}"))),
    }
}

/// Returns the name of the trace with letters, digits and hyphens. The suite allows no others.
fn name(args: &ShowArgs) -> String {
    let name = args.trace.file_stem().unwrap_or_default().to_string_lossy();
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

/// Returns the files of a reproduction.
fn files(case: &Reproduction, args: &ShowArgs, path: &str) -> Vec<Written> {
    let name = name(args);
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
