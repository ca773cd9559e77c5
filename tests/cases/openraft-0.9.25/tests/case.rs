//! The version with the mend of issue 1802 of openraft.

#[path = "../../openraft/mod.rs"]
mod openraft_case;

#[test]
fn no_write_is_acknowledged_without_a_quorum() {
    openraft_case::clean("openraft 0.9.25");
}

#[test]
fn votes_that_are_not_synced_are_found_with_each_of_20_seeds() {
    openraft_case::votes_found("openraft 0.9.25, three hosts with crashes, votes not synced");
}
