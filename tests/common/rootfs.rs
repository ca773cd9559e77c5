//! Archives with a root file system, made of programs of this machine.

use std::path::Path;

/// The script that makes them. The links are absolute, and would lead to folders of this machine.
const MAKE: &str = r#"
mkdir -p r/usr/bin r/usr/lib r/usr/lib64 r/etc
for program in $PROGRAMS; do
    cp -L $program r/usr/bin/
    for library in $(ldd $program | grep -o '/[^ ]*'); do
        case $library in *ld-linux*) cp -L $library r/usr/lib64/ ;; *) cp -L $library r/usr/lib/ ;; esac
    done
done
for folder in bin sbin lib lib64; do ln -s /usr/$folder r/$folder; done
ln -s bin r/usr/sbin
echo archive > r/etc/origin
tar -C r -czf rootfs.tar.gz .
tar -cf empty.tar r/etc
head -c 300 rootfs.tar.gz > broken.tar
"#;

/// Makes `rootfs.tar.gz` in a folder, with these programs and a file `/etc/origin`. Beside it are
/// `empty.tar`, without programs, and `broken.tar`, which is cut off.
pub fn make(folder: &Path, programs: &str) {
    super::shell(folder, &format!("PROGRAMS='{programs}'\n{MAKE}")).expect(0);
}
