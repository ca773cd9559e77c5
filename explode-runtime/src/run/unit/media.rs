//! Faults of the medium as choices: before a mutate one block of one leaf may go bad (EX-112, EX-118).

use explode_ramdisk::ReadFault;

use crate::base::Fault;
use crate::choose::{Chooser, Kind, Label, Point};
use crate::faults::media::{SITE, Site, faults};
use crate::pipeline::Pipeline;
use crate::stack::Stack;

/// Something that may happen now.
#[derive(Debug)]
struct Chance {
    site: Site,
    fault: ReadFault,
}

/// A mutate begins: if a block goes bad now, it does. `seed` is what garbage is drawn from.
///
/// # Errors
/// The log cannot be read, or the devices do not do it.
pub(crate) fn choose(
    stack: &Stack,
    pipeline: &mut Pipeline<'_>,
    chooser: &mut Chooser,
    fallback: &mut dyn FnMut(&Point<'_>) -> u32,
    seed: u64,
) -> Result<(), Fault> {
    if !stack.may_go_bad() {
        return Ok(());
    }
    let so_far = faults(chooser.made()).count() as u32;
    let write_set = pipeline.catch_up(stack.devices())?;
    let mut names = vec!["none".to_owned()];
    let mut chances = Vec::new();
    for (media, site) in stack.media_sites(write_set.durable()) {
        if so_far < media.most && write_set.is_settled(site.dev, &site.sectors) {
            for (word, fault) in media.faults(seed) {
                names.push(format!("{} {word}", site.name));
                chances.push(Chance { site: site.clone(), fault });
            }
        }
    }
    let options = u32::try_from(names.len()).map_err(Fault::new)?;
    let label = Label { site: SITE.to_owned(), ..Label::default() };
    let point = Point { kind: Kind::IoFailure, options, names: &names, weights: &[], label };
    let answer = chooser.choose(&point, fallback) as usize;
    if let Some(Chance { site: Site { dev, sectors, .. }, fault }) =
        answer.checked_sub(1).map(|at| &chances[at])
    {
        stack.devices().spoil(*dev, sectors.clone(), *fault)?;
        pipeline.spoil(*dev, sectors.clone(), *fault, &names[answer]);
    }
    Ok(())
}
