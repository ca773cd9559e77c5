//! The choices in the memory shared with EKM. The script is written before the kernel runs, and the
//! results are read afterwards.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::mem::offset_of;
use std::os::fd::AsFd as _;

use explode_ekm_abi::user;
use explode_ekm_abi::wire::{
    CHOICES_MAX, CHOICES_MMAP, ChoiceHeader, ChoiceSlot, FRAMES_MAX, LOG_DATA, NO_DEVICE,
    OPTIONS_MAX,
};
use nix::unistd::gettid;
use tracing::debug;

use super::map::DeviceMapping;
use crate::frames::{label, path};
use crate::numbers::{kind, number};
use explode_runtime::base::{Blame, StepError};
use explode_runtime::choose::{Choice, ChoiceKind};

/// The shared memory, and the names of the addresses so far.
#[derive(Debug)]
pub(crate) struct ChoicePage {
    map: DeviceMapping,
    names: RefCell<BTreeMap<u64, String>>,
}

impl ChoicePage {
    /// Maps the shared memory. Functions must be probed.
    ///
    /// # Errors
    /// The memory cannot be mapped.
    pub fn open(ekm: &File) -> Result<ChoicePage, StepError> {
        let bytes = LOG_DATA as usize + CHOICES_MAX * size_of::<ChoiceSlot>();
        let map = DeviceMapping::new(ekm, CHOICES_MMAP as i64, bytes, true);
        let map =
            map.map_err(|errno| tool(format!("EKM's choices cannot be mapped: {}", errno.desc())))?;
        Ok(ChoicePage { map, names: RefCell::default() })
    }

    /// Arms the choices: functions of these kinds may fail `failures` times in system calls of this
    /// thread.
    ///
    /// # Errors
    /// The script has more choices than there is room for.
    pub fn arm(&self, kinds: u32, failures: u32, script: &[Choice]) -> Result<(), StepError> {
        if script.len() > CHOICES_MAX {
            return Err(too_many(script.len()));
        }
        for (index, choice) in script.iter().enumerate() {
            let number = number(choice.kind).expect("only choices of the kernel are its own");
            self.map.write(slot(index), &number.to_ne_bytes());
            self.map.write(
                slot(index) + offset_of!(ChoiceSlot, options),
                &choice.options.to_ne_bytes(),
            );
            self.map
                .write(slot(index) + offset_of!(ChoiceSlot, answer), &choice.value.to_ne_bytes());
        }
        let words = [
            (offset_of!(ChoiceHeader, kinds), kinds),
            (offset_of!(ChoiceHeader, task), gettid().as_raw() as u32),
            (offset_of!(ChoiceHeader, scripted), script.len() as u32),
            (offset_of!(ChoiceHeader, failures), failures),
            (offset_of!(ChoiceHeader, taken), 0),
            (offset_of!(ChoiceHeader, lost), 0),
            (offset_of!(ChoiceHeader, armed), 1),
        ];
        words.into_iter().for_each(|(at, word)| self.map.write(at, &word.to_ne_bytes()));
        Ok(())
    }

    /// Disarms the choices. Returns the choices made.
    ///
    /// # Errors
    /// There were more choices than there is room for.
    pub fn disarm(&self, ekm: &File) -> Result<Vec<Choice>, StepError> {
        self.map.write(offset_of!(ChoiceHeader, armed), &0_u32.to_ne_bytes());
        let (taken, lost) =
            (self.word(offset_of!(ChoiceHeader, taken)), self.word(offset_of!(ChoiceHeader, lost)));
        if lost > 0 {
            return Err(too_many(taken as usize + lost as usize));
        }
        (0..taken as usize).map(|index| self.choice(ekm, index).inspect(note)).collect()
    }

    fn choice(&self, ekm: &File, index: usize) -> Result<Choice, StepError> {
        let at = |offset: usize| slot(index) + offset;
        let number = self.word(at(offset_of!(ChoiceSlot, kind)));
        let (kind, word) = kind(number)
            .ok_or_else(|| tool(format!("EKM reported a failure of the unknown kind {number}")))?;
        let device = self.word(at(offset_of!(ChoiceSlot, device)));
        let depth = (self.word(at(offset_of!(ChoiceSlot, depth))) as usize).min(FRAMES_MAX);
        let mut frames = Vec::with_capacity(depth);
        for frame in 0..depth {
            let mut address = [0; 8];
            self.map.read(at(offset_of!(ChoiceSlot, frames)) + frame * address.len(), &mut address);
            frames.push(self.name(ekm, u64::from_ne_bytes(address))?);
        }
        let label = label(word, &frames, (device != NO_DEVICE).then_some(device));
        let value = self.word(at(offset_of!(ChoiceSlot, answer)));
        let options = self.word(at(offset_of!(ChoiceSlot, options)));
        if options > OPTIONS_MAX {
            let place = path(word, &frames);
            return Err(tool(format!(
                "a module chooses one of {options} options in {place}; use at most {OPTIONS_MAX}"
            )));
        }
        let normal = value + 1 >= options;
        let name = match kind {
            _ if normal => None,
            ChoiceKind::ModuleChoice => {
                Some(format!("{value} of {options}: {}", path(word, &frames)))
            }
            ChoiceKind::LateCompletion => Some(format!("late: {}", path(word, &frames))),
            _ => Some(format!("fail: {}", path(word, &frames))),
        };
        Ok(Choice { kind, options, value, name, label })
    }

    /// Returns the name of an address of the kernel.
    fn name(&self, ekm: &File, address: u64) -> Result<String, StepError> {
        if let Some(name) = self.names.borrow().get(&address) {
            return Ok(name.clone());
        }
        let name = user::symbol(ekm.as_fd(), address);
        let name = name.map_err(|errno| {
            tool(format!("EKM could not name an address of the kernel: {}", errno.desc()))
        })?;
        // Names of modules are not cached, because another module may be loaded at the same address
        // later.
        if !name.ends_with(']') {
            self.names.borrow_mut().insert(address, name.clone());
        }
        Ok(name)
    }

    fn word(&self, at: usize) -> u32 {
        let mut bytes = [0; 4];
        self.map.read(at, &mut bytes);
        u32::from_ne_bytes(bytes)
    }
}

/// Logs a choice unless it is the normal run.
fn note(choice: &Choice) {
    match (&choice.name, choice.kind) {
        (None, _) => {}
        (Some(name), ChoiceKind::LateCompletion) => debug!(name, "late write"),
        (Some(name), _) => debug!(name, "kernel choice"),
    }
}

fn slot(index: usize) -> usize {
    LOG_DATA as usize + index * size_of::<ChoiceSlot>()
}

fn too_many(choices: usize) -> StepError {
    tool(format!(
        "{choices} choices of the kernel between two choices of explode; at most {CHOICES_MAX} are \
         possible: let fewer kinds fail, or choose more often"
    ))
}

fn tool(message: String) -> StepError {
    StepError::new(message).blame(Blame::Tool)
}
