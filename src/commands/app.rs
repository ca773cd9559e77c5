//! `explode app`: checks an unmodified program. Its commands become a stack file on simulated
//! files.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;

use clap::{CommandFactory as _, Parser as _};
use explode_ramdisk::files::FileModel;
use explode_runtime::base::{Exit, RunError, UsageError};
use explode_runtime::plan::Registry;

use super::{models, run};
use crate::cli::{AppArgs, Cli, Command, Format, ModelArg, RunArgs};
use crate::output;
use crate::program::{CHECKER, SETUP, check_command, work_command};
use crate::stack_file::StackFile;

/// The name of the stack file, and so of the run folder.
const NAME: &str = "app.toml";

/// Checks a program, or prints its stack file.
pub fn app(registry: &Registry, args: &AppArgs) -> Exit {
    let prepared = stack_file(args).and_then(|text| {
        if args.print {
            return Ok(Prepared::Text(text));
        }
        let mut run = run_args(args)?;
        run.stack.file = Some(StackFile::of_text(registry, Cli::command, Path::new(NAME), &text)?);
        Ok(Prepared::Run(Box::new(run)))
    });
    match prepared {
        Err(error) => run::refused(&RunError::from(error), Format::Human),
        Ok(Prepared::Run(run)) if run.each_model => models::models(registry, &run),
        Ok(Prepared::Run(run)) => run::run(registry, &run),
        Ok(Prepared::Text(text)) => {
            output::line(text.trim_end());
            Exit::Clean
        }
    }
}

/// The result of the arguments.
enum Prepared {
    /// A stack file that is printed.
    Text(String),
    /// A run.
    Run(Box<RunArgs>),
}

/// Parses the options of `explode run`.
fn run_args(args: &AppArgs) -> Result<RunArgs, UsageError> {
    let depth = format!("--depth={}", args.times);
    let model = match args.model {
        ModelArg::Strict => Some("--soft"),
        ModelArg::Each => Some("--each-model"),
        ModelArg::Posix | ModelArg::Ext4 | ModelArg::Xfs | ModelArg::Btrfs => None,
    };
    let own = ["explode", "run", NAME, &depth].into_iter().chain(model);
    let words: Vec<OsString> =
        own.map(OsString::from).chain(args.run.iter().map(OsString::from)).collect();
    if let Some(wrong) = args.run.iter().find(|word| word.starts_with("--stack")) {
        return Err(UsageError(format!("{wrong}: the commands are the stack; omit it")));
    }
    let cli = Cli::try_parse_from(words).unwrap_or_else(|error| error.exit());
    match cli.command {
        Command::Run(run) => Ok(*run),
        _ => unreachable!("the words begin with 'run'"),
    }
}

/// Returns the stack file of the commands.
fn stack_file(args: &AppArgs) -> Result<String, UsageError> {
    let mut text = guest(args)?;
    text.push_str("[[component]]\nuse = \"files\"\n");
    let model = match args.model {
        ModelArg::Posix | ModelArg::Strict | ModelArg::Each => FileModel::Posix,
        ModelArg::Ext4 => FileModel::Ext4,
        ModelArg::Xfs => FileModel::Xfs,
        ModelArg::Btrfs => FileModel::Btrfs,
    };
    if model != FileModel::default() {
        writeln!(text, "model = \"{model}\"").expect("a String takes all");
    }
    if !args.allow_write.is_empty() {
        let folders = args.allow_write.iter().map(|path| whole(path));
        let folders = folders.collect::<Result<Vec<_>, _>>()?.join(":");
        writeln!(text, "allow_write = {}", quoted(&folders)).expect("a String takes all");
    }
    if args.allow_network {
        text.push_str("allow_network = true\n");
    }
    let variables = variables(&args.env)?;
    let located = |command: &str| -> Result<String, UsageError> {
        Ok(format!("{variables}{}", located(command)?))
    };
    let program = [("init", &args.setup), ("recover", &args.recover)];
    for (at, (key, command)) in program.into_iter().filter(|(_, given)| given.is_some()).enumerate()
    {
        let head = format!("\n[[component]]\nname = \"{SETUP}\"\n");
        text.push_str(if at == 0 { &head } else { "" });
        let command = quoted(&located(command.as_deref().unwrap_or_default())?);
        writeln!(text, "{key} = {command}").expect("a String takes all");
    }
    write!(text, "\n[checker]\nname = \"{CHECKER}\"\nmutate = [\n").expect("a String takes all");
    for (number, work) in args.work.iter().enumerate() {
        let name =
            if args.work.len() == 1 { "work".to_owned() } else { format!("work-{}", number + 1) };
        let work = quoted(&work_command(&located(work)?));
        writeln!(
            text,
            "  {{ name = \"{name}\", steps = [{{ start = [\"{{n}}\"] }}, {{ sh = {work} }}, \
             {{ end = [\"{{n}}\"] }}] }},"
        )
        .expect("a String takes all");
    }
    let check = located(&args.check)?;
    let check = if args.resident { check } else { check_command(&check) };
    writeln!(text, "]\ncheck = {}", quoted(&check)).expect("a String takes all");
    if args.resident {
        text.push_str("resident = true\n");
    }
    Ok(text)
}

/// Returns the shell commands that set these variables, each on a line.
fn variables(variables: &[String]) -> Result<String, UsageError> {
    let mut text = String::new();
    for variable in variables {
        let wrong = |why: &str| UsageError(format!("--env {variable}: {why}"));
        let (name, value) =
            variable.split_once('=').ok_or_else(|| wrong("it has no '='; write NAME=VALUE"))?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(is_name) || name.starts_with(char::is_numeric) {
            return Err(wrong("a name has letters, digits and '_', and begins with no digit"));
        }
        if name.starts_with("EXPLODE_") {
            return Err(wrong("explode sets the variables EXPLODE_ itself; use another name"));
        }
        let value = value.replace('\'', r"'\''");
        writeln!(text, "export {name}='{value}'").expect("a String takes all");
    }
    Ok(text)
}

/// Returns the table of the packages that the commands see. Empty if they see this machine.
fn guest(args: &AppArgs) -> Result<String, UsageError> {
    if let Some(file) = &args.rootfs {
        let failed = |error: &dyn std::fmt::Display| {
            UsageError(format!("--rootfs {}: {error}; name an archive (tar)", file.display()))
        };
        let file = file.canonicalize().map_err(|error| failed(&error))?;
        let file = file.to_str().ok_or_else(|| failed(&"its path is not UTF-8"))?;
        return Ok(format!("[guest]\nrootfs = {}\n\n", quoted(file)));
    }
    if args.packages.is_empty() {
        return Ok(String::new());
    }
    let packages: Vec<String> = args.packages.iter().map(|name| quoted(name)).collect();
    Ok(format!("[guest]\npackages = [{}]\n\n", packages.join(", ")))
}

/// Returns the command with the whole path of its program if that is a file beside the user, such
/// as `./work.sh`. The commands start in the simulated files.
fn located(command: &str) -> Result<String, UsageError> {
    let program = command.split_whitespace().next().unwrap_or_default();
    if program.is_empty() {
        return Err(UsageError("a command is empty; write what the shell is to run".to_owned()));
    }
    if !program.starts_with("./") && !program.starts_with("../") {
        return Ok(command.to_owned());
    }
    let path = std::fs::canonicalize(program).map_err(|error| {
        UsageError(format!("{program}: {error}; name a program beside the folder you are in"))
    })?;
    Ok(command.replacen(program, &format!("'{}'", path.display()), 1))
}

/// Returns the whole path of a folder.
fn whole(path: &Path) -> Result<String, UsageError> {
    let whole = path.canonicalize().map_err(|error| {
        UsageError(format!("--allow-write {}: {error}; name a folder", path.display()))
    })?;
    Ok(whole.display().to_string())
}

/// Returns a text as a string of TOML.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
