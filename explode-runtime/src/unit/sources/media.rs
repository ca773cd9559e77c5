//! Faults of the medium as choices: before a mutate one block of one leaf may go bad (EX-112,
//! EX-118).

use explode_ramdisk::ReadFault;

use super::source::{Asking, ChoiceSource};
use crate::base::StepError;
use crate::choose::{Choice, ChoiceKind, ChoicePoint, Label};
use crate::faults::media::{MediaBlock, SITE, faults};
use crate::judge::CrashPipeline;
use crate::stack::Stack;

/// A fault that may happen now.
#[derive(Debug)]
struct Chance {
    site: MediaBlock,
    fault: ReadFault,
}

/// Lets blocks go bad, at most one before each mutate.
#[derive(Debug)]
pub(super) struct MediaSource;

impl ChoiceSource for MediaSource {
    fn before_mutate(
        &mut self,
        stack: &Stack,
        asking: &Asking<'_>,
        pipeline: &mut CrashPipeline<'_>,
    ) -> Result<(), StepError> {
        if !stack.may_go_bad() {
            return Ok(());
        }
        let so_far = faults(&asking.made()).count() as u32;
        let seed = pipeline.seed();
        let write_set = pipeline.catch_up(stack.devices())?;
        let mut names = vec!["none".to_owned()];
        let mut chances = Vec::new();
        for (media, site) in stack.media_sites(write_set.durable()) {
            if so_far < media.max_per_path && write_set.is_settled(site.dev, &site.sectors) {
                for (word, fault) in media.faults(seed) {
                    names.push(format!("{} {word}", site.name));
                    chances.push(Chance { site: site.clone(), fault });
                }
            }
        }
        let options = u32::try_from(names.len()).map_err(StepError::new)?;
        let point = ChoicePoint {
            kind: ChoiceKind::IoFailure,
            options,
            names: &names,
            weights: &[],
            label: Label::named(SITE),
        };
        let answer = asking.choose(&point) as usize;
        let Some(chance) = answer.checked_sub(1).map(|at| &chances[at]) else { return Ok(()) };
        let Chance { site: MediaBlock { dev, sectors, .. }, fault } = chance;
        stack.devices().damage(*dev, sectors.clone(), *fault)?;
        pipeline.damage(*dev, sectors.clone(), *fault, &names[answer]);
        Ok(())
    }

    /// Adds the blocks that have gone bad.
    fn add_state(&self, made: &[Choice], signature: &mut Vec<u8>) {
        faults(made).for_each(|fault| signature.extend(fault.as_bytes()));
    }
}
