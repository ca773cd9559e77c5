//! Faults of the medium as choices: before a mutate one block of one leaf may go bad, or one disk
//! may fail (EX-112, EX-118).

use explode_ramdisk::Damage;

use super::source::{Asking, ChoiceSource};
use crate::base::StepError;
use crate::choose::{Choice, ChoiceKind, ChoicePoint, Label};
use crate::faults::media::{SITE, faults};
use crate::judge::CrashPipeline;
use crate::stack::Stack;

/// A fault that may happen now.
#[derive(Debug)]
struct Chance {
    dev: u32,
    damage: Damage,
}

/// Lets blocks and disks go bad, at most one before each mutate.
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
            // After more disks than the array can do without, nothing is promised.
            let may = match media.is_of_disk() {
                true => so_far < stack.can_lose(),
                false => write_set.is_settled(site.dev, &site.sectors),
            };
            if so_far < media.max_per_path && may {
                for (word, damage) in media.damage(&site.sectors, seed) {
                    names.push(format!("{} {word}", site.name));
                    chances.push(Chance { dev: site.dev, damage });
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
        let Some(chance) = answer.checked_sub(1).map(|at| chances.swap_remove(at)) else {
            return Ok(());
        };
        let Chance { dev, damage } = chance;
        stack.devices().damage(dev, &damage)?;
        pipeline.damage(dev, damage, &names[answer]);
        Ok(())
    }

    /// Adds what has gone bad.
    fn add_state(&self, made: &[Choice], signature: &mut Vec<u8>) {
        faults(made).for_each(|fault| signature.extend(fault.as_bytes()));
    }
}
