//! The choices that are made below the driver of a stack: by functions of the kernel that may
//! fail, and between two calls. They are one sequence (EX-11), of one thread: its answers are laid
//! out when it is handed over, and it is taken back with what was asked.

use std::fs::create_dir_all;
use std::os::fd::BorrowedFd;
use std::path::Path;

use super::background;
use super::handed_over::HandedOverChoices;
use super::kernel::{KernelDiskState, KernelDisks};
use explode_runtime::base::{Blame, RunError, StepError};
use explode_runtime::choose::{Choice, ChoiceKind, ChoicePoint, Chooser, Label};
use explode_runtime::devices::{KernelSide, Side};
use explode_runtime::faults::background::BackgroundWork;
use explode_runtime::faults::kernel::KernelFaults;

impl KernelDisks {
    /// A call of the checked system's user has ended, of this name: here the kernel may do
    /// something on its own. `things` says what there is, each with a name that is the same in
    /// every run; `run` does one of them. Whatever goes wrong ends the path, as broken: among it
    /// that a thread has run that was not to, or has not when it was (EX-58).
    ///
    /// Nothing is asked before a mutate and while crash disks are checked, of the crash side, and
    /// once the path has had all that it may have.
    pub fn between_calls(
        &self,
        call: &str,
        things: impl FnOnce() -> Result<Vec<String>, StepError>,
        run: impl FnOnce(usize) -> Result<(), StepError>,
    ) {
        let mut handed = self.0.handed.borrow_mut();
        let Some(handed) = handed.as_mut().filter(|handed| handed.trouble.is_none()) else {
            return;
        };
        if handed.between.remaining_after(handed.chooser.made()).is_none() {
            return;
        }
        let machine = &self.0.machine;
        let choose = || {
            handed.disarm(machine)?;
            self.0.threads.borrow_mut().stretch_ends()?;
            let mut names = vec!["nothing".to_owned()];
            names.extend(things()?);
            let options = u32::try_from(names.len()).map_err(StepError::new)?;
            let label = Label { site: format!("after {call}"), ..Label::default() };
            let point = ChoicePoint {
                kind: ChoiceKind::Thread,
                options,
                names: &names,
                weights: &[],
                label,
            };
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

    /// The file system of this file begins to commit, and those of the stack's threads that this
    /// has woken run until they wait.
    ///
    /// # Errors
    /// It cannot be asked; or a thread that was to run has not.
    pub fn commit(&self, file: BorrowedFd<'_>) -> Result<(), StepError> {
        self.0.machine.start_commit(file)?;
        self.0.threads.borrow().run_woken()
    }

    /// The flusher writes back what is dirty, of everything.
    ///
    /// # Errors
    /// It does not come to an end.
    pub fn write_back(&self) -> Result<(), StepError> {
        background::write_back()
    }

    /// Memory is taken back from all caches that are clean.
    ///
    /// # Errors
    /// Not root.
    pub fn reclaim(&self) -> Result<(), StepError> {
        background::reclaim()
    }
}

impl KernelSide for KernelDisks {
    fn side(&self) -> Side {
        KernelDisks::side(self)
    }

    fn make_folders(&self, places: &[&Path]) {
        let KernelDiskState { machine, side, .. } = &*self.0;
        if places.iter().all(|at| machine.has_folder(*side, at)) {
            return;
        }
        let make = |at: &&Path| -> Result<(), String> {
            create_dir_all(at).map_err(|error| format!("{}: {error}", at.display()))?;
            machine.made_folder(at);
            Ok(())
        };
        let made = self.uncounted(|| {
            places
                .iter()
                .try_for_each(make)
                .map_err(|error| StepError::new(error).blame(Blame::Tool))
        });
        made.unwrap_or_else(|fault| KernelDisks::give_up(self, &fault));
    }

    fn probe(&self, failures: &KernelFaults) -> Result<(), RunError> {
        self.0.machine.probe(failures)
    }

    fn hand_over(
        &self,
        failures: KernelFaults,
        between: BackgroundWork,
        script: Vec<Choice>,
    ) -> Result<(), StepError> {
        let mut handed = HandedOverChoices {
            failures,
            between,
            chooser: Chooser::new(script),
            armed: false,
            trouble: None,
        };
        self.0.threads.borrow_mut().stretch_begins()?;
        handed.arm(&self.0.machine)?;
        *self.0.handed.borrow_mut() = Some(handed);
        Ok(())
    }

    fn take_back(&self) -> Result<Vec<Choice>, StepError> {
        let Some(mut handed) = self.0.handed.borrow_mut().take() else { return Ok(Vec::new()) };
        handed.disarm(&self.0.machine)?;
        if let Some(trouble) = handed.trouble {
            return Err(trouble);
        }
        self.0.threads.borrow_mut().stretch_ends()?;
        Ok(handed.chooser.made().to_vec())
    }

    fn listen(&self, on: bool) {
        self.0.machine.listen(on);
    }

    fn has_asked(&self) -> bool {
        self.0.machine.has_asked()
    }

    fn refused(&self) -> Option<StepError> {
        self.0.machine.refused(self.0.side)
    }

    fn quiesce(&self, threads: &[(&str, u32)]) -> Result<(), StepError> {
        if !self.0.machine.takes_turns() || self.0.side != Side::Live {
            let why = "what happens between two calls is chosen in guests (--in vm): it counts on \
                       one processor and tasks that \
                       take turns";
            return Err(StepError::new(why).blame(Blame::Tool));
        }
        self.0.threads.borrow_mut().quiesce(threads)
    }

    fn notes_operations(&self) -> bool {
        KernelDisks::notes_operations(self)
    }

    fn follow(&self, at: &Path) -> Result<(), StepError> {
        let KernelDiskState { machine, followed, .. } = &*self.0;
        machine.follow(self.followed(), at)?;
        followed.borrow_mut().push(Some(at.to_owned()));
        Ok(())
    }

    fn followed(&self) -> u32 {
        KernelDisks::followed(self)
    }

    fn unfollow(&self, system: u32) -> Result<(), StepError> {
        let KernelDiskState { machine, followed, .. } = &*self.0;
        if let Some(place) = followed.borrow_mut().get_mut(system as usize) {
            place.take();
        }
        machine.unfollow(system)
    }

    fn give_up(&self, why: &StepError) {
        KernelDisks::give_up(self, why);
    }
}
