//! A program that is started once and answers many questions, one line each.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use crate::programs::{Program, shell, spawn, there};
use crate::space;

/// A program that waits for questions. It ends when this is dropped.
#[derive(Debug)]
pub struct Resident(Arc<Mutex<Pipes>>);

#[derive(Debug)]
struct Pipes {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// The answer of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A line, without its end.
    Line(String),
    /// The program has ended without an answer.
    Ended(ExitStatus),
}

impl Resident {
    /// Starts a program in an empty folder. Its standard output is for answers.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn start(program: Program) -> io::Result<Resident> {
        let Program { command, environment, err, .. } = program;
        let mut shell = shell(&command, environment);
        shell.current_dir("/run").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(err);
        let pipes = there(move || {
            space::clean()?;
            start(shell)
        })??;
        Ok(Resident(Arc::new(Mutex::new(pipes))))
    }

    /// Asks a question, and serves the mounts of this thread until the answer is there.
    ///
    /// # Errors
    /// The thread of the programs has ended.
    pub fn ask(&self, question: &str) -> io::Result<Answer> {
        let (pipes, question) = (Arc::clone(&self.0), format!("{question}\n"));
        there(move || {
            let mut pipes = pipes.lock().unwrap_or_else(PoisonError::into_inner);
            let mut line = String::new();
            // A program that has ended reads nothing, and then answers nothing.
            let sent = pipes.questions.write_all(question.as_bytes());
            if sent.is_ok() {
                pipes.answers.read_line(&mut line)?;
            }
            match line.strip_suffix('\n') {
                Some(line) => Ok(Answer::Line(line.to_owned())),
                None => pipes.child.wait().map(Answer::Ended),
            }
        })?
    }
}

fn start(shell: Command) -> io::Result<Pipes> {
    let mut child = spawn(shell)?;
    let pipe = || io::Error::other("the pipes are there");
    let questions = child.stdin.take().ok_or_else(pipe)?;
    let answers = child.stdout.take().ok_or_else(pipe)?;
    Ok(Pipes { child, questions, answers: BufReader::new(answers) })
}

impl Drop for Pipes {
    fn drop(&mut self) {
        // It may have ended already.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
