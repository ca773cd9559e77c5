//! The critical write in words.

use super::crash::place;
use super::rows::{Telling, call_of};
use crate::explain::critical::{Critical, CriticalSearch};
use crate::report::{Colour, Line};
use crate::worker::probe::CrashMoment;

/// Returns the lines about the result of the search.
pub(super) fn lines(search: &CriticalSearch, moment: &CrashMoment, telling: Telling) -> Vec<Line> {
    let found = match search {
        CriticalSearch::Found(critical) => return found(critical, moment, telling),
        CriticalSearch::NothingPending => "no write: nothing was pending".to_owned(),
        CriticalSearch::NeverRecovers(all) => {
            let all = if *all { "" } else { ", as far as they were looked at" };
            format!("no write: of all disks of that moment none recovers{all}")
        }
        CriticalSearch::NotMade(why) => format!("not looked for: {why}"),
    };
    vec![Line::status("Critical", &found)]
}

fn found(critical: &Critical, moment: &CrashMoment, telling: Telling) -> Vec<Line> {
    let Critical { range, version, kept, decision, certain, nearest, as_near, nearest_certain } =
        critical;
    let written = |range: usize, version: Option<u32>| -> String {
        let Some(at) = moment.ranges.get(range) else { return String::new() };
        let several = version.filter(|_| at.versions.len() > 1);
        let place = match several {
            Some(version) => format!("{} version {version}", place(at, telling)),
            None => place(at, telling),
        };
        let call = version.and_then(|version| call_of(moment, range, version));
        match call.map(|number| &moment.calls[number]) {
            Some(call) if telling.simulated => format!("{} ({place})", call.call),
            Some(call) => format!("{place}, written by {},", call.call),
            None => place,
        }
    };
    let outcome = if *kept { "reached the disk" } else { "was lost" };
    let how = match certain {
        true => "no disk that a crash could still leave",
        false => "no disk that was looked at",
    };
    let head = format!("{} {outcome}: after that {how} recovers", written(*range, Some(*version)));
    let mut lines = vec![Line::status("Critical", &head).coloured(Colour::Yellow)];
    let mut detail = |word: &str, text: &str| lines.push(Line::detail(word, text));
    let order = format!("{} of {}, in the order of writing", decision.0, decision.1);
    detail("decision", &order);
    if !certain {
        detail("bound", "not all disks were looked at: one of the others may recover");
    }
    let differs = nearest.iter().filter_map(|(index, version)| {
        let range = moment.ranges.get(*index)?;
        let plain = |index, version| written(index, version).trim_end_matches(',').to_owned();
        Some(match (range.kept, version) {
            (None, Some(_)) => format!("with {}", plain(*index, *version)),
            (Some(_), None) => format!("without {}", plain(*index, range.kept)),
            (Some(_), Some(_)) => format!("with {}", plain(*index, *version)),
            (None, None) => return None,
        })
    });
    let others = match (as_near, nearest_certain) {
        (1, true) => String::new(),
        (1, false) => "; there may be others as near, or nearer".to_owned(),
        (near, true) => format!("; {near} disks are as near"),
        (near, false) => format!("; at least {near} disks are as near"),
    };
    detail("recovers", &format!("{}{others}", differs.collect::<Vec<_>>().join("; ")));
    lines
}
