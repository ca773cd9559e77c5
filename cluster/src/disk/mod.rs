//! The disk of a host: simulated files, the log of the running handler, and the pieces that a crash
//! may lose.
//!
//! The files, the write set and the enumeration of crash disks are those of `explode-ramdisk` and
//! `explode-runtime`. This room adds the moments at which a handler can be cut.

mod calls;
mod host_files;
mod lagging;
#[cfg(feature = "std-fs")]
mod std_folder;

use std::rc::Rc;

use explode_ramdisk::files::{Files, Granule};
use explode_ramdisk::{Event, Image, Recording, SimFiles, Storage};
use explode_runtime::base::StepError;
use explode_runtime::crash::{LegalDisks, PieceName, names};
use explode_runtime::writeset::{Atom, DeviceRules, WriteSet};
use itertools::Itertools as _;
use num_bigint::BigUint;

pub use calls::{CallNote, FailingCalls, HostCalls};
pub use host_files::HostFiles;
use lagging::{LaggingWriteSet, apply};
#[cfg(feature = "std-fs")]
pub use std_folder::StdFolder;

/// The disk of a host that runs, or is down.
#[derive(Debug)]
pub struct HostDisk {
    storage: Storage,
    files: Rc<HostFiles>,
    write_set: LaggingWriteSet,
    rules: DeviceRules,
    #[cfg(feature = "std-fs")]
    folder: StdFolder,
}

/// A moment at which a handler can be cut: this many of its events on the disk have happened, and
/// this many of its other effects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HandlerCut {
    /// The number of events of the handler that have happened.
    pub events: usize,
    /// The number of other effects that have happened: messages, replies, facts.
    pub effects: usize,
}

/// A cut with the disks that it can leave.
#[derive(Debug)]
pub struct CutDisks {
    /// The moment.
    pub cut: HandlerCut,
    /// The disks.
    pub disks: LegalDisks,
    /// The pieces that were pending.
    write_set: WriteSet,
}

impl HostDisk {
    /// Returns a disk of a host with these contents, all of them durable.
    ///
    /// # Errors
    /// The contents are none that a crash can leave, or the file calls of this program are not
    /// seen.
    #[cfg_attr(not(feature = "std-fs"), expect(unused_variables, reason = "no folder has it"))]
    pub fn new(host: &str, image: Image, rules: DeviceRules) -> Result<HostDisk, StepError> {
        let storage = Storage::new(image.clone(), Recording::On);
        let granule = Granule(match rules.atom {
            Atom::Sector => 512,
            Atom::Block | Atom::Request => rules.block_bytes,
        });
        let files = SimFiles::mount(storage.clone(), 0, granule)?;
        let files = Rc::new(HostFiles::new(files));
        Ok(HostDisk {
            storage,
            #[cfg(feature = "std-fs")]
            folder: StdFolder::new(host, &files)?,
            files,
            write_set: LaggingWriteSet::new(WriteSet::new(image, rules)),
            rules,
        })
    }

    /// Returns the files.
    pub fn files(&self) -> &Rc<HostFiles> {
        &self.files
    }

    /// Returns the files as a node uses them.
    pub fn as_files(&self) -> Rc<dyn Files> {
        Rc::clone(&self.files) as Rc<dyn Files>
    }

    /// Returns the devices.
    #[cfg(feature = "async")]
    pub(crate) fn storage(&self) -> Storage {
        self.storage.clone()
    }

    /// Returns the path of the host's folder.
    #[cfg(feature = "std-fs")]
    pub fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// Runs code of the node. Returns its result, and the first call that was refused, in words.
    #[cfg(feature = "std-fs")]
    pub fn enter<T>(&self, code: impl FnOnce() -> T) -> (T, Option<String>) {
        self.folder.enter(code)
    }

    /// Runs code of the node. Returns its result; no call is refused.
    #[cfg(not(feature = "std-fs"))]
    pub fn enter<T>(&self, code: impl FnOnce() -> T) -> (T, Option<String>) {
        (code(), None)
    }

    /// Returns the number of events since the disk was made.
    pub fn logged(&self) -> u64 {
        self.storage.logged()
    }

    /// Returns the events since the last call.
    pub fn take_log(&mut self) -> Vec<Event> {
        self.storage.take_log()
    }

    /// Adds the events of a handler that has ended.
    ///
    /// # Errors
    /// The log contradicts itself.
    pub fn add(&self, events: Vec<Event>) -> Result<(), StepError> {
        self.write_set.add(events)
    }

    /// Returns the moments at which a handler with these events can be cut, the end first, then in
    /// order. `effects` has the number of events before each other effect, in order.
    ///
    /// Two moments between which no disk becomes impossible and no other effect happens leave no
    /// more disks than the later one. So a cut stands before each effect, before each event after
    /// which some disk is impossible, and at the end. Together they leave each disk that a crash at
    /// any event can leave, with the effects before that event.
    ///
    /// # Errors
    /// The log contradicts itself.
    pub fn cuts(&self, events: &[Event], effects: &[usize]) -> Result<Vec<HandlerCut>, StepError> {
        let mut write_set = self.write_set.get()?.clone();
        let mut cuts = vec![HandlerCut { events: events.len(), effects: effects.len() }];
        let mut happened = 0;
        for (index, event) in events.iter().enumerate() {
            while effects.get(happened).is_some_and(|before| *before <= index) {
                cuts.push(HandlerCut { events: index, effects: happened });
                happened += 1;
            }
            if write_set.shrinks(event) {
                cuts.push(HandlerCut { events: index, effects: happened });
            }
            apply(&mut write_set, std::slice::from_ref(event))?;
        }
        let at_end =
            (happened..effects.len()).map(|effects| HandlerCut { events: events.len(), effects });
        cuts.extend(at_end);
        Ok(cuts)
    }

    /// Returns the disks that a crash at a cut can leave.
    ///
    /// # Errors
    /// The log contradicts itself.
    pub fn at(&self, cut: HandlerCut, events: &[Event]) -> Result<CutDisks, StepError> {
        let mut write_set = self.write_set.get()?.clone();
        apply(&mut write_set, &events[..cut.events])?;
        Ok(CutDisks { cut, disks: LegalDisks::of(&write_set), write_set })
    }

    /// Returns the number of pairs of a cut and a disk that it can leave.
    ///
    /// # Errors
    /// The log contradicts itself.
    pub fn count(&self, cuts: &[HandlerCut], events: &[Event]) -> Result<BigUint, StepError> {
        let mut write_set = self.write_set.get()?.clone();
        let (mut happened, mut disks) = (0, None);
        let mut count = |cut: &HandlerCut| {
            if happened < cut.events {
                apply(&mut write_set, &events[happened..cut.events])?;
                (happened, disks) = (cut.events, None);
            }
            let disks = disks.get_or_insert_with(|| LegalDisks::of(&write_set).count());
            Ok(disks.clone())
        };
        cuts.iter().sorted_by_key(|cut| cut.events).map(&mut count).sum()
    }

    /// Ends the disk: nothing more reaches it.
    pub fn fence(&self) {
        self.storage.fence();
    }

    /// Returns the contents that the host sees.
    pub fn image(&self) -> Image {
        self.storage.image()
    }

    /// Returns the rules of the disk in a crash.
    pub fn rules(&self) -> DeviceRules {
        self.rules
    }

    /// Feeds everything that a crash of the disk depends on to a hash.
    ///
    /// # Errors
    /// The log contradicts itself.
    pub fn add_to(&self, hash: &mut xxhash_rust::xxh3::Xxh3) -> Result<(), StepError> {
        hash.update(&self.image().identity().0.to_le_bytes());
        for world in self.write_set.get()?.worlds() {
            hash.update(&world.durable.identity().0.to_le_bytes());
            for range in &world.ranges {
                hash.update(&range.dev.to_le_bytes());
                for sectors in range.sectors.iter() {
                    hash.update(&sectors.start.to_le_bytes());
                    hash.update(&sectors.end.to_le_bytes());
                }
                for version in &range.versions {
                    hash.update(b"v");
                    for sector in range.sectors.iter().flat_map(Clone::clone) {
                        hash.update(&version.identity(sector).0.to_le_bytes());
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns what a crash has lost, in words: every range whose newest version is gone.
    pub fn lost(&self, from: &CutDisks, kept: &[PieceName]) -> Vec<String> {
        let world = from.write_set.worlds().pop().expect("there is a world");
        let lost = world.ranges.iter().filter(|range| {
            let newest = range.versions.last().map(|version| version.number);
            let name = |number| (range.dev, range.first_sector(), number);
            newest.is_some_and(|newest| !kept.contains(&name(newest)))
        });
        let named = lost.map(|range| {
            let sector = range.first_sector();
            let known = self.files.sim().describe_sector(range.dev, sector);
            known.unwrap_or_else(|| format!("sector {sector} of device {}", range.dev))
        });
        named.collect()
    }
}

/// Returns the names of the pieces of a disk.
pub fn piece_names(kept: &[explode_runtime::crash::KeptPiece]) -> Vec<PieceName> {
    names(kept)
}
