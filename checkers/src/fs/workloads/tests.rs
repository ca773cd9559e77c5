use super::*;

/// Returns the number of workloads of up to `calls` calls from a start.
fn count(alphabet: Alphabet, start: Start, calls: u32) -> Vec<u64> {
    let options = Options::none();
    let state = Reasonable::within(alphabet.limits(), &options).unwrap();
    let mut first = Workloads {
        alphabet,
        starts: vec![start],
        start: Some(start),
        state,
        open: OpenFiles::default(),
    };
    for call in start.calls(first.state.limits.calls) {
        imagine(&mut first, &call);
    }
    if start.is_open() {
        let paths = first.state.fs.paths();
        let files = paths.into_iter().filter(|(_, id)| first.state.fs.is_file(*id));
        for (at, (path, _)) in files.enumerate() {
            first.open.opened(explode_ramdisk::files::Fd(at as u32), &path, Default::default());
        }
    }
    let mut counts = vec![0; calls as usize];
    walk(&first, start, &mut counts, 0);
    counts
}

fn walk(at: &Workloads, start: Start, counts: &mut [u64], depth: usize) {
    let Reasonable { fs, free, limits, .. } = &at.state;
    for call in at.alphabet.calls(fs, start, &at.open, limits, &|id| free.next(fs, id)) {
        let mut next = at.clone();
        imagine(&mut next, &call);
        let forcings = next.alphabet.forcings(&call, fs, &next.state.fs, &next.open).len() as u64;
        counts[depth] += forcings;
        if depth + 1 < counts.len() {
            let mut below = vec![0; counts.len()];
            walk(&next, start, &mut below, depth + 1);
            counts.iter_mut().zip(below).for_each(|(all, below)| *all += below * forcings);
        }
    }
}

/// Applies a call as if it had succeeded.
fn imagine(at: &mut Workloads, call: &TopologyCall) {
    at.state.writes += 1;
    let calls = call.calls(&call.bytes(&at.state.fs, at.state.writes));
    at.follow(&calls);
    calls.iter().for_each(|call| at.open.follow(call));
}

#[test]
fn show() {
    for alphabet in [Alphabet::Core, Alphabet::Full] {
        for start in Start::ALL {
            println!("{alphabet:?} {} {:?}", start.name(), count(alphabet, start, 2));
        }
    }
}
