//! The choices that are made below whoever drives a stack: by functions of the kernel that may fail, and between two calls. They are
//! one sequence (EX-11), of one thread: its answers are laid out when it is handed over, and it is taken back with what was asked.

use std::os::fd::BorrowedFd;

use super::kernel::KernelDisks;
use super::machine::Machine;
use super::{Side, background};
use crate::base::{Blame, Fault};
use crate::between::Between;
use crate::choose::{Choice, Chooser, Kind, Label, Point};
use crate::failures::Failures;

/// The sequence, while it is not ours.
#[derive(Debug)]
pub(super) struct Handed {
    failures: Failures,
    between: Between,
    /// Answers first by the script; what was asked since then.
    chooser: Chooser,
    /// Are functions of the kernel asked now?
    armed: bool,
    /// What has gone wrong: from there on nothing is asked.
    trouble: Option<Fault>,
}

impl Handed {
    /// The kernel's turn.
    fn arm(&mut self, machine: &Machine) -> Result<(), Fault> {
        let left = self.failures.clone().left_after(self.chooser.made());
        if left.is_none() {
            return Ok(());
        }
        let upcoming = self.chooser.upcoming().iter();
        let script: Vec<Choice> = upcoming.take_while(|choice| choice.kind.is_of_kernel()).cloned().collect();
        machine.arm(&left, &script)?;
        self.armed = true;
        Ok(())
    }

    /// Its end: what it has chosen is part of the sequence.
    fn disarm(&mut self, machine: &Machine) -> Result<(), Fault> {
        if std::mem::take(&mut self.armed) {
            machine.disarm()?.into_iter().for_each(|choice| self.chooser.record_anyway(choice));
        }
        Ok(())
    }

    /// Answers a point between two calls.
    fn choose(&mut self, point: &Point<'_>) -> u32 {
        let before = self.chooser.made().len();
        let value = self.chooser.choose(point, &mut |_| 0);
        if point.options > 1 && self.chooser.made().len() == before {
            // Another way than the script's: whoever takes the sequence back sees where.
            let Point { kind, options, label, .. } = point.clone();
            self.chooser.record_anyway(Choice { kind, options, value, name: None, label });
        }
        value
    }
}

impl KernelDisks {
    /// From here on functions of the kernel may fail in system calls of this thread, and things happen between two: so much of it,
    /// first by the answers of a script, all of them made elsewhere, then nothing.
    pub(crate) fn hand_over(
        &self,
        failures: Failures,
        between: Between,
        script: Vec<Choice>,
    ) -> Result<(), Fault> {
        let mut handed =
            Handed { failures, between, chooser: Chooser::new(script), armed: false, trouble: None };
        self.0.threads.borrow_mut().stretch_begins()?;
        handed.arm(&self.0.machine)?;
        *self.0.handed.borrow_mut() = Some(handed);
        Ok(())
    }

    /// Ends that; returns what was chosen.
    pub(crate) fn take_back(&self) -> Result<Vec<Choice>, Fault> {
        let Some(mut handed) = self.0.handed.borrow_mut().take() else { return Ok(Vec::new()) };
        handed.disarm(&self.0.machine)?;
        if let Some(trouble) = handed.trouble {
            return Err(trouble);
        }
        self.0.threads.borrow_mut().stretch_ends()?;
        Ok(handed.chooser.made().to_vec())
    }

    /// A call of the checked system's user has ended, of this name: here the kernel may do something on its own. `things` says what
    /// there is, each with a name that is the same in every run; `run` does one of them. Whatever goes wrong ends the path, as
    /// broken: among it that a thread has run that was not to, or has not when it was (EX-58).
    ///
    /// Nothing is asked before a mutate and while crash disks are checked, of the crash side, and once the path has had all that it
    /// may have.
    pub fn between_calls(
        &self,
        call: &str,
        things: impl FnOnce() -> Result<Vec<String>, Fault>,
        run: impl FnOnce(usize) -> Result<(), Fault>,
    ) {
        let mut handed = self.0.handed.borrow_mut();
        let Some(handed) = handed.as_mut().filter(|handed| handed.trouble.is_none()) else { return };
        if handed.between.left_after(handed.chooser.made()).is_none() {
            return;
        }
        let machine = &self.0.machine;
        let choose = || {
            handed.disarm(machine)?;
            self.0.threads.borrow_mut().stretch_ends()?;
            let mut names = vec!["nothing".to_owned()];
            names.extend(things()?);
            let options = u32::try_from(names.len()).map_err(Fault::new)?;
            let label = Label { site: format!("after {call}"), ..Label::default() };
            let point = Point { kind: Kind::Thread, options, names: &names, weights: &[], label };
            let chosen = handed.choose(&point);
            if let Some(thing) = chosen.checked_sub(1) {
                self.0.threads.borrow_mut().may_run();
                run(thing as usize)?;
            }
            self.0.threads.borrow_mut().stretch_begins()?;
            handed.arm(machine)
        };
        handed.trouble = choose().err();
    }

    /// The threads of this stack are held back from now on: they run when all others wait.
    pub(crate) fn quiesce(&self, threads: &[(&str, u32)]) -> Result<(), Fault> {
        if !self.0.machine.takes_turns() || self.0.side != Side::Live {
            let why = "what happens between two calls is chosen in guests (--in vm): it counts on one processor and tasks that \
                       take turns";
            return Err(Fault::new(why).blame(Blame::Tool));
        }
        self.0.threads.borrow_mut().quiesce(threads)
    }

    /// The file system of this file begins to commit, and those of the stack's threads that this has woken run until they wait.
    ///
    /// # Errors
    /// It cannot be asked; or a thread that was to run has not.
    pub fn commit(&self, file: BorrowedFd<'_>) -> Result<(), Fault> {
        self.0.machine.start_commit(file)?;
        self.0.threads.borrow().run_woken()
    }

    /// The flusher writes back what is dirty, of everything.
    ///
    /// # Errors
    /// It does not come to an end.
    pub fn write_back(&self) -> Result<(), Fault> {
        background::write_back()
    }

    /// Memory is taken back from all caches that are clean.
    ///
    /// # Errors
    /// Not root.
    pub fn reclaim(&self) -> Result<(), Fault> {
        background::reclaim()
    }
}
