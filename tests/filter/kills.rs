//! Twenty kills at random moments, each followed by a run on the same input from its beginning.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::process::Stdio;

use crate::{Done, Place, Random, finish, lines, real_input};

const SEED: u64 = 0x2026_1130;
const KILLS: usize = 20;
/// One read of at most 64 KiB, and the line that it completes.
const BATCH_BYTES_MAX: usize = (64 << 10) + 200;

/// When to kill.
#[derive(Debug)]
enum Moment {
    /// Once so many bytes of input are in the pipe, which stays open.
    Fed(usize),
    /// Once so many bytes of output came.
    Came(usize),
}

#[test]
fn after_twenty_kills_no_line_is_lost_and_only_batches_in_flight_come_twice() {
    let place = Place::new();
    let input = real_input();
    let mut random = Random(SEED);
    let mut outputs = Vec::new();
    let mut kills = 0;
    for run in 0..4 * KILLS {
        if kills == KILLS {
            break;
        }
        let batch = ["1", "7", "500", "1000000"][random.below(4)];
        let moment = match random.below(2) {
            0 => Moment::Fed(random.below(input.len() / KILLS * (kills + 1))),
            _ => Moment::Came(1 + random.below(40_000)),
        };
        let case = format!("seed {SEED:#x}, run {run}, batches of {batch}, {moment:?}");
        let done = killed(&place, batch, &input, &moment);
        if done.signal.is_some() {
            assert_eq!(done.signal, Some(9), "{case}");
            kills += 1;
            outputs.push((whole_lines(&done.stdout), batch.parse().unwrap(), case));
        } else {
            // The run came to its end before its moment.
            assert_eq!(done.status, Some(0), "{case}: {}", done.stderr);
            outputs.push((whole_lines(&done.stdout), 0, case));
        }
    }
    let last = place.run(&arguments("1000000"), &input).good();
    outputs.push((whole_lines(&last), 0, "the last run".to_owned()));
    assert_eq!(kills, KILLS, "seed {SEED:#x}: too few kills hit a run");

    let expected: BTreeSet<&[u8]> = lines(&input).into_iter().collect();
    let found = outputs
        .iter()
        .flat_map(|(lines, _, _)| lines.iter().map(Vec::as_slice));
    assert_eq!(expected.len(), 27_789);
    assert!(
        found.collect::<BTreeSet<_>>() == expected,
        "seed {SEED:#x}: a line is lost or invented"
    );
    for (index, (output, batch_lines, case)) in outputs.iter().enumerate() {
        let later = outputs
            .iter()
            .skip(index + 1)
            .flat_map(|(lines, _, _)| lines);
        let later: BTreeSet<&Vec<u8>> = later.collect();
        let first = output
            .iter()
            .position(|line| later.contains(line))
            .unwrap_or(output.len());
        let (_, again) = output.split_at(first);
        assert!(
            again.len() <= *batch_lines,
            "{case}: {} lines come again",
            again.len()
        );
        let bytes: usize = again.iter().map(Vec::len).sum();
        assert!(bytes <= BATCH_BYTES_MAX, "{case}: {bytes} bytes come again");
    }
}

fn arguments(batch: &str) -> [&str; 8] {
    [
        "--sync",
        "manual",
        "--address-field",
        "1",
        "--id-field",
        "2",
        "--batch-lines",
        batch,
    ]
}

/// Runs until the moment has come, kills, and gives all that was written.
fn killed(place: &Place, batch: &str, input: &[u8], moment: &Moment) -> Done {
    let mut command = place.command(&arguments(batch));
    let mut child = command
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("is piped");
    let mut stdout = child.stdout.take().expect("is piped");
    let mut output = Vec::new();
    std::thread::scope(|scope| match moment {
        Moment::Fed(bytes) => {
            let reader = scope.spawn(|| stdout.read_to_end(&mut output));
            stdin
                .write_all(&input[..*bytes])
                .expect("the program reads");
            child.kill().expect("a child can be killed");
            reader
                .join()
                .expect("the reader ends")
                .expect("a pipe can be read");
        }
        Moment::Came(bytes) => {
            // Fails once the program is gone.
            scope.spawn(move || stdin.write_all(input).unwrap_or_default());
            output.resize(*bytes, 0);
            let mut came = 0;
            while came < *bytes {
                match stdout
                    .read(&mut output[came..])
                    .expect("a pipe can be read")
                {
                    0 => break,
                    more => came += more,
                }
            }
            output.truncate(came);
            if came == *bytes {
                child.kill().expect("a child can be killed");
            }
            stdout.read_to_end(&mut output).expect("a pipe can be read");
        }
    });
    let done = finish(child);
    Done {
        stdout: output,
        ..done
    }
}

/// The lines that came whole: a kill can cut the last.
fn whole_lines(bytes: &[u8]) -> Vec<Vec<u8>> {
    lines(bytes)
        .into_iter()
        .filter(|line| line.ends_with(b"\n"))
        .map(<[u8]>::to_vec)
        .collect()
}
