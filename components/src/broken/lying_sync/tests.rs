use super::*;
use crate::forward::tests::refused;
use crate::noting::Noting;

#[test]
fn without_a_lie_every_call_arrives_as_itself() {
    assert_eq!(refused(|files| Box::new(Liar::on(files, Lies::None, false, None))), [""; 0]);
}

#[test]
fn read_file_fails_for_a_path_that_cannot_be_opened() {
    let liar = Liar::on(Rc::new(Noting::default()), Lies::None, false, Some("/a".to_owned()));
    assert_eq!(liar.read_file("/a"), Err(Errno::EIO));
    assert!(liar.read_file("/b").is_ok());
}
