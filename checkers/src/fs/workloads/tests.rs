use explode_ramdisk::files::{Granule, NAMELESS, OpenFlags, SimFiles};
use explode_ramdisk::{Image, Recording, Storage};

use super::*;
use crate::fs::start::StartTree;

/// Returns the checker with these options, separated by spaces.
fn checker(given: &str) -> Workloads {
    let pairs = given.split_whitespace().map(|pair| pair.split_once('=').unwrap());
    let options =
        pairs.fold(Options::none(), |options, (key, value)| match value.parse::<bool>() {
            Ok(value) => options.with(key, value),
            Err(_) => options.with(key, value),
        });
    made(&options).unwrap()
}

const CLOSED: Start = Start::committed(StartTree::Large, false, false);
const OPEN: Start = Start::committed(StartTree::Large, false, true);

/// Returns the number of workloads of `calls` calls from a start.
fn count(alphabet: &str, start: Start, calls: u32) -> u128 {
    let checker = checker(&format!("alphabet={alphabet}"));
    let (mut counter, files) = checker.counter(start, u64::MAX);
    counter.count(&files, calls).unwrap()
}

/// The numbers of `docs/model/file-system-checks.md`. A tree that is mounted again has as many
/// workloads as one that is not.
#[test]
fn the_numbers_of_workloads_are_those_of_the_page() {
    let small = [false, true].map(|open| Start::committed(StartTree::Small, false, open));
    let counts = |alphabet, calls: std::ops::RangeInclusive<u32>| {
        [Start::AsMade, small[0], small[1], CLOSED, OPEN]
            .map(|start| calls.clone().map(|n| count(alphabet, start, n)).collect::<Vec<_>>())
    };
    let core = [[8, 252], [105, 12_898], [108, 13_582], [258, 66_134], [261, 68_114]];
    assert_eq!(counts("core", 1..=2), core);
    let again = Start::committed(StartTree::Large, true, true);
    assert_eq!([1, 2].map(|calls| count("core", again, calls)), core[4]);
    let small = [[442, 230_742], [413, 194_450]];
    let large = [[1_628, 2_647_390], [1_584, 2_501_544]];
    let full = [[[20, 1_964]], [small[0]], [small[1]], [large[0]], [large[1]]].concat();
    assert_eq!(counts("full", 1..=2).to_vec(), full);
}

/// The numbers with which a run begins: of all starts together, one more mutate for the start, and
/// only those that are counted within a second.
#[test]
fn the_forecast_adds_up_the_starts() {
    let forecast = |given: &str, depth| {
        let numbers = checker(given).mutates(depth);
        let number = |count: ExactCount| u64::try_from(count.0).unwrap();
        numbers.into_iter().map(number).collect::<Vec<u64>>()
    };
    assert_eq!(forecast("time=still", 3), [9, 1_472, 321_708]);
    assert_eq!(forecast("time=passes start=empty", 3), [1, 8, 252]);
    assert_eq!(forecast("time=still start=committed descriptors=closed", 2), [4, 726]);
    assert_eq!(forecast("start=committed descriptors=open", 1), [4]);
    assert_eq!(forecast("time=still start=mounted descriptors=closed", 2), [2, 363]);
    // Each call has two times.
    assert_eq!(forecast("", 3), [9, 2 * 1_472, 4 * 321_708]);
    assert_eq!(forecast("time=still alphabet=full", 9)[..2], [9, 8_154]);
    assert!(forecast("alphabet=full", 9).len() < 5, "longer ones take too long to count");
    // Without a bound nothing is counted that takes a guest long.
    assert_eq!(forecast("", NO_DEPTH), [9, 2 * 1_472, 4 * 321_708]);
    assert_eq!(forecast("alphabet=full", NO_DEPTH), [9, 2 * 8_154]);
}

/// A file is in one of the places that it had since it was synced, also if its directory moves. It
/// is forgotten when it is replaced, linked or removed.
#[test]
fn renamed_files_have_one_of_their_names() {
    let new = || {
        let storage = Storage::new(Image::new(), Recording::Off);
        SimFiles::mount(storage, 0, Granule::default()).unwrap()
    };
    let call = |text: &str| {
        let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        let [name, from, to] = words.try_into().unwrap();
        match &*name {
            "rename" => FsCall::Rename { from, to },
            "link" => FsCall::Link { from, to },
            _ => panic!("{text}"),
        }
    };
    // The calls, the names of the file in the recovered tree, and whether it is lost.
    let cases: [(&[&str], &[&str], bool); 7] = [
        (&["rename /b/a /a/c"], &["/b/a"], false),
        (&["rename /b/a /a/c"], &["/a/c"], false),
        (&["rename /b/a /a/c"], &[], true),
        (&["rename /b/a /a/c", "rename /a /d"], &["/d/c"], false),
        (&["rename /b/a /a/c", "rename /a /d"], &["/a/d"], true),
        (&["rename /b/a /a/c", "link /a/c /a/d"], &[], false),
        (&["rename /b/a /a/c", "rename /a/a /a/c"], &[], false),
    ];
    for (calls, names, lost) in cases {
        let mut workloads = checker("");
        let start = CLOSED;
        for call in start.calls(workloads.state.limits.calls) {
            workloads.state.writes += 1;
            let calls = call.calls(&call.bytes(&workloads.state.fs, workloads.state.writes));
            workloads.follow(&calls);
        }
        let contents = workloads.state.fs.bytes(workloads.state.fs.find("/b/a").unwrap()).to_vec();
        workloads.force(&FsCall::Syncfs, &new());
        calls.iter().for_each(|text| workloads.follow(&[call(text)]));
        let files = new();
        for directory in ["/a", "/b", "/d"] {
            files.mkdir(directory).unwrap();
        }
        for name in names {
            let fd = files.open(name, OpenFlags::CREATE).unwrap();
            files.pwrite(fd, 0, &contents).unwrap();
            files.close(fd).unwrap();
        }
        let Workloads { renamed, state, .. } = &workloads;
        let judged = renamed.now.judge(&files, &state.fs, &state.history.now);
        assert_eq!(judged.is_err(), lost, "{calls:?} {names:?}: {judged:?}");
        // A script demands the same: of each file one of its paths.
        let met = |demand: &ShellDemand| {
            let ShellDemand::Any(any) = demand else { panic!("a demand of another kind") };
            any.iter()
                .any(|one| matches!(one, ShellDemand::File(path, _) if names.contains(&&**path)))
        };
        let demands = renamed.now.demands(&state.fs, &state.history.now);
        assert_eq!(demands.iter().all(met), !lost, "{calls:?} {names:?}");
    }
}

/// A file that is open by two names keeps its contents in the model when one of them is removed:
/// a write through the descriptor of the removed name is a write to the file of the other. In
/// `full` the descriptors with `O_APPEND`, `O_DIRECT`, `O_SYNC` and `O_DSYNC` stay open as well.
#[test]
fn a_removed_name_leaves_the_file_of_its_descriptor() {
    let storage = Storage::new(Image::new(), Recording::Off);
    let files = SimFiles::mount(storage, 0, Granule::default()).unwrap();
    let mut workloads = checker("descriptors=open alphabet=full");
    workloads.start = Some(OPEN);
    for call in OPEN.calls(workloads.state.limits.calls) {
        assert!(workloads.make(&call, &files).unwrap());
    }
    workloads.open_all(&files).unwrap();
    assert_eq!(workloads.open.paths().count(), 3 * 5);
    let unlink = |path: &str| TopologyCall::One(FsCall::Unlink { path: path.to_owned() });
    let is_nameless = |workloads: &Workloads| workloads.open.paths().contains(&NAMELESS);
    assert!(workloads.make(&unlink("/b/b"), &files).unwrap() && !is_nameless(&workloads));
    assert!(workloads.make(&TopologyCall::pwrite("/a/a", 0), &files).unwrap());
    let append = TopologyCall::write("/a/a", 2 * topology::BLOCK, WriteMethod::Appended);
    assert!(workloads.make(&append, &files).unwrap());
    let fs = &workloads.state.fs;
    assert_eq!(files.read_file("/a/a"), Ok(fs.bytes(fs.find("/a/a").unwrap()).to_vec()));
    assert!(workloads.make(&unlink("/a/a"), &files).unwrap() && is_nameless(&workloads));
    assert!(workloads.make(&TopologyCall::pwrite(NAMELESS, 0), &files).unwrap());
    drop(Session::resume(&files, std::mem::take(&mut workloads.open)));
}

/// Other calls than the alphabet's: those that change names, and the named ones.
#[test]
fn calls_take_the_place_of_those_of_the_alphabet() {
    let calls = |given: &str| {
        let checker = checker(given);
        let (_, files) = checker.counter(CLOSED, 0);
        let new = |id| files.free.next(&files.fs, id);
        let limits = checker.state.limits;
        checker.alphabet.calls(&files.fs, CLOSED, &files.open, &limits, &new)
    };
    let names = calls("calls=names");
    let all = calls("calls=names,direct,copy");
    let added: Vec<String> =
        all.iter().filter(|call| !names.contains(call)).map(TopologyCall::name).collect();
    assert_eq!(
        added,
        [
            "pwrite /a/a 0 O_DIRECT",
            "pwrite /a/a 8192 O_DIRECT",
            "copy_file_range /a/a /b/a",
            "pwrite /b/a 0 O_DIRECT",
            "pwrite /b/a 8192 O_DIRECT",
            "copy_file_range /b/a /a/a",
            "pwrite /b/b 0 O_DIRECT",
            "pwrite /b/b 8192 O_DIRECT",
        ]
    );
    assert_eq!(calls("calls=alphabet"), calls(""));
}

#[test]
fn a_wrong_option_is_refused() {
    for (given, expected) in [
        ("start=comitted", "did you mean 'committed'?"),
        ("alphabet=small", "'small'"),
        ("descriptors=shut", "'shut'"),
        ("calls=direkt", "did you mean 'direct'?"),
    ] {
        let (key, value) = given.split_once('=').unwrap();
        let error = made(&Options::none().with(key, value)).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// Number 0 has all calls. The others have some, and no call belongs to all or none of them.
#[test]
fn subsets_differ_and_are_never_empty() {
    let (_, files) = checker("alphabet=full").counter(CLOSED, 0);
    let limits = Alphabet::Full.limits();
    let new = |id| files.free.next(&files.fs, id);
    let calls = Alphabet::Full.calls(&files.fs, CLOSED, &files.open, &limits, &new);
    assert_eq!(Subset::numbered(0).of_calls(calls.clone()), calls);
    let subsets: Vec<_> =
        (1..SUBSETS).map(|number| Subset::numbered(number).of_calls(calls.clone())).collect();
    for call in &calls {
        let with = subsets.iter().filter(|subset| subset.contains(call)).count();
        assert!((64..192).contains(&with), "{} is in {with} subsets", call.name());
    }
    assert!(subsets.iter().all(|subset| !subset.is_empty()));
    let none = Subset::numbered(1).of_calls(Vec::new());
    assert!(none.is_empty(), "there is nothing to choose from");
    let sync = [None, Some(FsCall::Syncfs)];
    let syncs = (1..SUBSETS).map(|number| Subset::numbered(number).of_forcings(sync.to_vec()));
    let mut kinds: Vec<_> = syncs.collect();
    kinds.sort();
    kinds.dedup();
    assert_eq!(kinds, [vec![None], sync.to_vec(), vec![Some(FsCall::Syncfs)]]);
}
