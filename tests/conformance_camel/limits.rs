//! Rows 49 and 52: IDs of any bytes, and a second process.

use std::io::Read;
use std::process::{Command, Stdio};

use idjournal::{Error, ID_BYTES_MAX, Outcome, Store};

use super::support::home::{
    Home, assert_absent, assert_added, assert_duplicate, everywhere, plain,
};
use super::support::small;

const DIRECTORY: &str = "IDJOURNAL_CONFORMANCE_DIRECTORY";

/// IDs that text formats and file names trip over.
fn hard() -> Vec<Vec<u8>> {
    let lone_surrogate: Vec<u8> = [0xd800_u16, 0x61]
        .iter()
        .flat_map(|unit| unit.to_le_bytes())
        .collect();
    vec![
        b"two\nlines".to_vec(),
        b"two\r\nlines\n".to_vec(),
        b"a\0b".to_vec(),
        b"\0".to_vec(),
        b"\0\0\0\0\0\0\0\0".to_vec(),
        b"../a/b".to_vec(),
        b"a\tb\\c\"d".to_vec(),
        Vec::new(),
        vec![b'x'; ID_BYTES_MAX],
        vec![0; ID_BYTES_MAX],
        vec![0xff, 0xfe, 0x80],
        vec![0xed, 0xa0, 0x80],
        lone_surrogate,
        Vec::from_iter(0..=255),
    ]
}

#[test]
fn r49_ids_of_any_bytes_are_kept_as_they_are() {
    let assert_known = |home: &Home| {
        let known: Vec<Vec<u8>> = home.orders().ids().collect();
        assert!(known == hard());
        for id in hard() {
            assert_duplicate(&home.orders(), id);
        }
    };
    everywhere(&small(512 << 10), |home| {
        for id in hard() {
            assert_absent(&home.orders(), &id);
            assert_added(&home.orders(), &id);
        }
        assert_known(home);
        let beyond = home.orders().add(vec![b'x'; ID_BYTES_MAX + 1]);
        assert!(matches!(beyond, Err(Error::Limit { .. })), "{beyond:?}");
        if home.is_stored() {
            home.kill();
            assert_known(home);
            home.store().compact().unwrap();
            home.reopen();
            assert_known(home);
        }
        for id in hard() {
            assert!(home.orders().remove(&id).wait().unwrap());
            assert_absent(&home.orders(), &id);
        }
        for name in hard().iter().filter(|name| name.len() < 1_000) {
            let cache = home.store().cache(name).unwrap();
            assert_eq!(cache.add(name).unwrap(), Outcome::Added);
            assert_duplicate(&cache, name);
        }
    });
}

#[test]
#[ignore = "it is run by the test that opens a directory twice"]
fn the_second_process() {
    let directory = std::env::var_os(DIRECTORY).unwrap();
    for is_stored in [true, false] {
        match Store::open(&directory, plain().persistence(is_stored)) {
            Err(Error::Locked { holder, .. }) => assert!(!holder.is_empty()),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn r52_a_second_process_is_refused() {
    everywhere(&plain(), |home| {
        assert_added(&home.orders(), "a");
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "limits::the_second_process",
                "--exact",
                "--ignored",
                "--nocapture",
            ])
            .env(DIRECTORY, home.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let mut said = String::new();
        child
            .stdout
            .take()
            .unwrap()
            .read_to_string(&mut said)
            .unwrap();
        let is_refused = child.wait().unwrap().success();
        assert!(is_refused && said.contains("1 passed"), "{said}");
        assert_duplicate(&home.orders(), "a");
        assert_added(&home.orders(), "b");
        if home.is_stored() {
            home.reopen();
            assert_duplicate(&home.orders(), "b");
        }
    });
}
