//! Writes the directory that an input of `recover` stands for, to be looked at with `journal-dump`:
//! `cargo run --example write_files -- INPUT DIRECTORY`, within `fuzz`.

use std::path::Path;
use std::{env, fs, io};

use arbitrary::{Arbitrary, Unstructured};
use idjournal_fuzz::edits::Harmed;

fn main() -> io::Result<()> {
    let words: Vec<_> = env::args_os().skip(1).collect();
    let [input, directory] = &words[..] else {
        return Err(io::Error::other("two arguments: INPUT DIRECTORY"));
    };
    let input = fs::read(input)?;
    let harmed = Harmed::arbitrary_take_rest(Unstructured::new(&input));
    let harmed = harmed.map_err(io::Error::other)?;
    println!("{harmed:#?}");
    fs::create_dir_all(directory)?;
    for (name, bytes) in harmed.files() {
        fs::write(Path::new(directory).join(name), bytes)?;
    }
    Ok(())
}
