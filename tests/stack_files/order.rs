//! The order in which the layers' commands are called (EX-38).

use crate::{Desk, on_folder};

const LAYERS: [&str; 4] = ["a", "b", "c", "d"];

#[test]
fn four_layers_are_called_in_order() {
    let layer = |name: &str| {
        let log = |call: &str| format!("{call} = \"echo {call} {name} >>LOG\"\n");
        let calls = ["init", "mount", "unmount", "recover"].map(log).concat();
        format!("[[component]]\nname = \"{name}\"\n{calls}")
    };
    let stack = on_folder(&LAYERS.map(layer).concat())
        .replace("sh = \"true\"", "sh = \"echo mutate >>LOG\"")
        .replace("check = \"true\"", "check = \"echo check >>LOG\"");
    let desk = Desk::new();
    assert_eq!(desk.run(&stack, 0).summary()["checked"], 1);

    let up = |calls: &[&str]| {
        let calls =
            |name: &str| calls.iter().map(|call| format!("{call} {name}")).collect::<Vec<_>>();
        LAYERS.iter().flat_map(|name| calls(name)).collect::<Vec<_>>()
    };
    let down = || up(&["unmount"]).into_iter().rev().collect::<Vec<_>>();
    let one = |word: &str| vec![word.to_owned()];
    let expected = [
        // The first start, and the pristine disks.
        up(&["init", "mount"]),
        down(),
        // A later start.
        up(&["mount"]),
        one("mutate"),
        // The crash, on a separate stack.
        up(&["recover", "mount"]),
        one("check"),
        down(),
        // The end.
        down(),
    ];
    assert_eq!(desk.logged(), expected.concat());
}
