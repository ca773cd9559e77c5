//! The choices below the driver of a stack, by functions of the kernel that may fail and between
//! two calls. They are one sequence (EX-11) of one thread. When the sequence is handed over, its
//! answers are laid out. When it is taken back, it has the choices made.

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
    /// Offers a choice of background actions after a call of the checked system's user. `call` is
    /// the name of the call. `things` returns the possible actions, each with a name that is the
    /// same in every run. `run` does one of them. Any error ends the path as broken, including a
    /// thread that has run although it must not, or has not run although it must (EX-58).
    ///
    /// There is no choice before a mutate, while crash disks are checked, on the crash side, and
    /// after the limit of the path.
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

    /// Makes the file system of this file start a commit, and runs the stack's threads that this
    /// has woken until they wait.
    ///
    /// # Errors
    /// The file system has no such operation, or a thread that must run has not.
    pub fn commit(&self, file: BorrowedFd<'_>) -> Result<(), StepError> {
        self.0.machine.start_commit(file)?;
        self.0.threads.borrow().run_woken()
    }

    /// Makes the flusher write back all dirty data.
    ///
    /// # Errors
    /// The flusher does not end.
    pub fn write_back(&self) -> Result<(), StepError> {
        background::write_back(self.0.machine.turn_takers())
    }

    /// Reclaims memory from all clean caches.
    ///
    /// # Errors
    /// The process is not root.
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

    fn pass_time(&self) -> Result<(), StepError> {
        self.0.machine.pass_time()
    }

    fn has_requests(&self) -> bool {
        self.0.machine.has_requests()
    }

    fn refused(&self) -> Option<StepError> {
        self.0.machine.refused(self.0.side)
    }

    fn quiesce(&self, threads: &[(&str, u32)]) -> Result<(), StepError> {
        if !self.0.machine.takes_turns() || self.0.side != Side::Live {
            let why = "the kernel's work between two calls is chosen only in guests (--in vm), \
                       where tasks take turns on one processor";
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
