//! The table of docs/camel.md.

use super::common::deaths::at_every_call;
use super::route::{Combination, Effects, Event, Process, Step, options};

const PAGE: &str = include_str!("../../docs/camel.md");

/// The columns behind the settings, in the order of the page.
const EVENTS: [Event; 8] = [
    Event::TwoAtOnce,
    Event::Fails(Step::Block),
    Event::FailsBeforeRestart(Step::Block),
    Event::Fails(Step::Rest),
    Event::DiesAfter(Step::Look),
    Event::DiesAfter(Step::Block),
    Event::DiesAfter(Step::Complete),
    Event::DiesAfter(Step::Rest),
];

const HEAD: &str = "| way | eager | remove on failure | completion | two copies at once \
    | block fails | block fails, restart | rest fails | dies after looking | after the block \
    | after completion | after the rest |";

/// How often block and rest were gone through, in a word.
fn told(effects: Effects) -> &'static str {
    match (effects.blocks, effects.rests) {
        (0, 0) => "never",
        (1, 1) => "once",
        (2, 2) => "twice",
        (2, 1) => "block twice",
        (1, 0) => "block only",
        other => panic!("no word for {other:?}"),
    }
}

fn settings(combination: Combination) -> [&'static str; 4] {
    let yes = |is_on| if is_on { "yes" } else { "no" };
    [
        if combination.records_on_add {
            "Camel's"
        } else {
            "claims"
        },
        yes(combination.is_eager),
        yes(combination.removes_on_failure),
        if combination.completes_early {
            "block"
        } else {
            "route"
        },
    ]
}

#[test]
fn each_combination_does_what_the_page_says_after_each_failure_and_each_death() {
    let mut rows = vec![HEAD.to_owned()];
    for combination in Combination::all() {
        let cells = EVENTS.map(|event| told(Process::new(combination).deliver_all(Some(event))));
        let cells: Vec<&str> = settings(combination).into_iter().chain(cells).collect();
        rows.push(format!("| {} |", cells.join(" | ")));
    }
    let told = PAGE.lines().skip_while(|line| *line != HEAD);
    let told: Vec<&str> = told.take_while(|line| line.starts_with('|')).collect();
    let told: Vec<&str> = told
        .into_iter()
        .filter(|line| !line.starts_with("|---"))
        .collect();
    assert_eq!(told, rows, "the page should say\n{}\n", rows.join("\n"));
}

#[test]
fn without_failure_and_death_every_combination_handles_a_message_once() {
    for combination in Combination::all() {
        let effects = Process::new(combination).deliver_all(None);
        assert_eq!(told(effects), "once", "{combination:?}");
    }
}

/// What comes of a death after so many steps, as the table has it.
fn after_steps(combination: Combination, steps: usize) -> Effects {
    let event = steps.checked_sub(1).map(|last| combination.steps()[last]);
    Process::new(combination).deliver_all(event.map(Event::DiesAfter))
}

#[test]
fn a_death_at_any_call_of_the_disk_is_as_one_after_the_step_before_or_after_it() {
    for combination in Combination::all() {
        let steps = combination.steps();
        let mut between = 0;
        let seen = at_every_call(
            &options(),
            |_| {},
            steps.len(),
            |store, step| {
                let repository = combination.repository(store);
                match steps[step] {
                    Step::Look => assert!(combination.look(&repository).unwrap()),
                    Step::Complete => combination.complete(&repository).unwrap(),
                    Step::Block | Step::Rest | Step::Acknowledge => {}
                }
            },
            8,
            |left| {
                let effects = |done: usize| {
                    let done = &steps[..done];
                    Effects {
                        blocks: usize::from(done.contains(&Step::Block)),
                        rests: usize::from(done.contains(&Step::Rest)),
                    }
                };
                let before = effects(left.acknowledged);
                let after = Process::going_on(combination, left.store, before).deliver_all(None);
                let may_be =
                    (left.acknowledged..=left.begun).map(|done| after_steps(combination, done));
                let may_be: Vec<Effects> = may_be.collect();
                assert!(
                    may_be.contains(&after),
                    "{combination:?}: {after:?}, not {may_be:?}"
                );
                between += usize::from(left.acknowledged < left.begun);
            },
        );
        assert!(
            seen > 100 && between > 50,
            "{combination:?}: {seen}, {between}"
        );
    }
}
