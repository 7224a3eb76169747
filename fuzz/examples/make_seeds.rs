//! Makes the seeds of the corpora, the same bytes in every run:
//! `cargo run --example make_seeds -- corpus`, within `fuzz`.

use std::path::Path;
use std::{env, fs, io};

use idjournal_fuzz::bases::{BASES, framed, samples};
use idjournal_fuzz::{records, scan};

fn main() -> io::Result<()> {
    let target = env::args_os().nth(1).unwrap_or_else(|| "corpus".into());
    let target = Path::new(&target);
    let seal = framed(
        15,
        1 << 7,
        &[9_u64.to_le_bytes(), 7_u64.to_le_bytes()].concat(),
    );
    for (at, record) in samples().iter().chain([&seal]).enumerate() {
        let input = records::input(records::WITH_BASE | 1, record);
        put(target, "record_decode", &format!("record-{at:02}"), &input)?;
        let input = records::input(records::WITH_BASE | records::STRETCHED | 2, record);
        put(
            target,
            "record_decode",
            &format!("stretched-{at:02}"),
            &input,
        )?;
    }
    for (at, files) in BASES.iter().enumerate() {
        for (name, bytes) in files.iter().filter(|(name, _)| name.starts_with("slot")) {
            let control = scan::MEND_HEADERS | scan::MEND_RECORDS;
            let input = [&[control], &bytes[..]].concat();
            put(target, "segment_scan", &format!("{at}-{name}"), &input)?;
        }
        // The base, no edits (their number stands last), and options.
        put(
            target,
            "recover",
            &format!("base-{at}"),
            &[u8::try_from(at).unwrap_or(0), 0, 0],
        )?;
        for kind in 0..17_u8 {
            // The choice of an enum is taken from the upper bits of a word.
            let choice = (u32::from(kind) * (u32::MAX / 17) + u32::MAX / 34).to_le_bytes();
            let more = [1, 2, 1, 3, 5, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0];
            let input = [&[u8::try_from(at).unwrap_or(0), 1][..], &choice, &more].concat();
            put(target, "recover", &format!("edit-{at}-{kind:02}"), &input)?;
        }
    }
    // Each byte is read as a choice, a cache, an ID or an end; any stretch of bytes is a script.
    for at in 0..16_u32 {
        let mut word = at.wrapping_mul(0x9e37_79b9) | 1;
        let mut input = Vec::new();
        for _ in 0..400 {
            word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            input.push(word.to_be_bytes()[0]);
        }
        put(target, "operations", &format!("script-{at:02}"), &input)?;
    }
    let lines: [&[u8]; 6] = [
        b"a\tb\tc\n\td\n\n",
        b"{\"a\":{\"b\":[1,2,{\"c\":\"x\"}]},\"id\":\"i\"}\n",
        b"{\"a\":\"\\u0041\\ud83d\\ude00\",\"a\":1.50e3}\n[1,[2,\"3\"]]\n\"text\"\n",
        b"{\"~\":1,\"/\":\"s\",\"\":\"e\"}\r\n{\"a\":null,\"b\":true}\n",
        b"not json\n{\"a\":\n\xff\xfe\n",
        b"no newline at the end",
    ];
    for (at, text) in lines.iter().enumerate() {
        for (which, pointers) in ["/a/b/2/c/id", "/a/id", "/1/1/0", "/~0/~1"]
            .iter()
            .enumerate()
        {
            let head = [&[b'\t', 1, 1, 1, 2, 1, 6, 1], pointers.as_bytes(), &[1; 12]].concat();
            let input = [&head, *text].concat();
            put(
                target,
                "filter_lines",
                &format!("lines-{at}-{which}"),
                &input,
            )?;
        }
    }
    Ok(())
}

fn put(target: &Path, name: &str, seed: &str, bytes: &[u8]) -> io::Result<()> {
    let directory = target.join(name);
    fs::create_dir_all(&directory)?;
    fs::write(directory.join(seed), bytes)
}
