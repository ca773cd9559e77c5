//! The test of the pages' commands finds errors.

use super::{Page, problems};

fn wrong(text: &str) -> String {
    problems(&Page { path: "a.md".to_owned(), text: text.to_owned() }).concat()
}

#[test]
fn a_correct_page_has_no_problem() {
    let text = "```toml\n# idle.toml\n[[component]]\nuse = \"folder\"\n[checker]\nname = \"idle\"\n\
                mutate = [ { name = \"idle\", steps = [ { sh = \"true\" } ] } ]\ncheck = \"true\"\n\
                ```\n```sh\ncargo run -q -- run idle.toml --depth 1   # finds nothing\n\
                x=$PWD\ntest \"$x\" = \"$PWD\"\nwhile false; do\n    false\ndone\n\
                explode run nothing  # exit code 2\n```\n\
                ```console\n$ echo a; echo b; echo c 1.5s\na\n...\nc 3.2s\n```\n";
    assert_eq!(wrong(text), "");
}

#[test]
fn a_wrong_exit_code_is_found() {
    let problem = wrong("# A\n```sh\ntrue\nexplode list --format nonsense\n```\n");
    assert!(problem.starts_with("a.md:4: explode list --format nonsense\n  exit code 2, and"));
    assert!(wrong("```sh\ntrue   # finds a loss\n```\n").contains("the page promises 1"));
    assert!(wrong("```sh\necho '1 findings; '  # finds nothing\n```\n").contains("0 findings"));
}

#[test]
fn output_that_is_not_there_is_found() {
    for shown in ["b", "a\nc", "c\n...\na", "a b..."] {
        let problem = wrong(&format!("```console\n$ echo a; echo b 1; echo c\n{shown}\n```\n"));
        assert!(problem.contains("the output does not have:"), "{shown}: {problem}");
    }
}

#[test]
fn a_command_that_cargo_does_not_get_is_found() {
    assert!(wrong("```sh\ncargo run --features nonsense -- list\n```\n").contains("exit code 99"));
}
