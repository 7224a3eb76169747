//! From facts to verdict: the decision table of docs/recovery.md as one match. No I/O.
//!
//! Each combination of facts has exactly one verdict; a test reads the table in the document and
//! compares all of them.

use crate::error::DamageReason;

/// What follows a segment in the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A begun segment whose header says that this one was sealed to it.
    Sealed,
    /// A segment whose header says at which offset this one was closed.
    Closed,
    /// Nothing: it is the last.
    Last,
}

/// How the records of a segment end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// With a seal to the segment that follows.
    SealToNext,
    /// With a seal to another segment, or to one that is not there.
    SealElsewhere,
    /// Exactly at the offset where a later header or the store file says that it was closed.
    AtLimit,
    /// With a record that reaches over that offset.
    OverLimit,
    /// With zeros up to the end of the file, or with no room for a record.
    Zeros,
    /// With bytes that are no record of this place.
    NotARecord,
    /// With a record that has a right checksum and impossible content.
    Impossible(&'static str),
    /// With a record of a kind that only a newer version knows.
    Newer,
}

/// What a segment is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is all there.
    Whole,
    /// It is the last, and ends in what was never written, or was written last and torn.
    Tail,
    /// What was known to be there is not: the store is refused.
    Damaged(DamageReason),
    /// It was written by a newer version: the store is refused.
    NewerFormat,
}

/// What a segment is, by what follows it, how it ends, and whether that end lies below a place that
/// is known to have been durable.
pub(crate) fn classify(role: Role, found: Found, is_below_mark: bool) -> Verdict {
    use DamageReason::{Checksum, EndsTooEarly, Malformed, Missing, NotLinked};
    match (role, found, is_below_mark) {
        (_, Found::Newer, _) => Verdict::NewerFormat,
        (_, Found::Impossible(why), _) => Verdict::Damaged(Malformed(why)),
        (_, Found::OverLimit, _) => Verdict::Damaged(EndsTooEarly),

        (Role::Sealed, Found::SealToNext, _) => Verdict::Whole,
        (Role::Sealed, Found::SealElsewhere, _) => Verdict::Damaged(NotLinked),
        (Role::Sealed, Found::AtLimit | Found::Zeros, _) => Verdict::Damaged(EndsTooEarly),

        (Role::Closed, Found::AtLimit, _) => Verdict::Whole,
        (Role::Closed, Found::SealToNext | Found::SealElsewhere, _) => Verdict::Damaged(NotLinked),
        (Role::Closed, Found::Zeros, _) => Verdict::Damaged(EndsTooEarly),

        (Role::Last, Found::SealToNext | Found::SealElsewhere, _) => Verdict::Damaged(Missing),
        (Role::Last, Found::AtLimit, false) => Verdict::Whole,
        (Role::Last, Found::Zeros | Found::NotARecord, false) => Verdict::Tail,
        (Role::Last, Found::AtLimit | Found::Zeros, true) => Verdict::Damaged(EndsTooEarly),

        (_, Found::NotARecord, _) => Verdict::Damaged(Checksum),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

    use super::*;

    const ROLES: [(&str, Role); 3] = [
        ("sealed", Role::Sealed),
        ("closed", Role::Closed),
        ("last", Role::Last),
    ];
    const FOUND: [(&str, Found); 8] = [
        ("seal to next", Found::SealToNext),
        ("seal elsewhere", Found::SealElsewhere),
        ("at limit", Found::AtLimit),
        ("over limit", Found::OverLimit),
        ("zeros", Found::Zeros),
        ("not a record", Found::NotARecord),
        ("impossible content", Found::Impossible("x")),
        ("newer kind", Found::Newer),
    ];

    fn name(verdict: Verdict) -> &'static str {
        match verdict {
            Verdict::Whole => "whole",
            Verdict::Tail => "tail",
            Verdict::NewerFormat => "newer format",
            Verdict::Damaged(DamageReason::Checksum) => "damaged: checksum",
            Verdict::Damaged(DamageReason::EndsTooEarly) => "damaged: ends too early",
            Verdict::Damaged(DamageReason::Missing) => "damaged: missing",
            Verdict::Damaged(DamageReason::NotLinked) => "damaged: not linked",
            Verdict::Damaged(DamageReason::Malformed(_)) => "damaged: malformed",
            Verdict::Damaged(_) => "another",
        }
    }

    #[test]
    fn every_combination_of_facts_has_the_verdict_that_the_document_gives() {
        let document = include_str!("../../docs/recovery.md");
        let rows: Vec<Vec<&str>> = document
            .lines()
            .filter(|line| line.starts_with("| ") && line.matches('|').count() == 5)
            .map(|line| {
                line.split('|')
                    .map(str::trim)
                    .filter(|cell| !cell.is_empty())
                    .collect()
            })
            .collect();
        let mut compared = 0;
        for (found_name, found) in FOUND {
            for (role_name, role) in ROLES {
                for (mark_name, is_below_mark) in [("no", false), ("yes", true)] {
                    let documented: Vec<&&str> = rows
                        .iter()
                        .filter(|row| row.first() == Some(&role_name))
                        .filter(|row| row.get(1) == Some(&found_name))
                        .filter(|row| {
                            row.get(2)
                                .is_some_and(|cell| ["any", mark_name].contains(cell))
                        })
                        .filter_map(|row| row.get(3))
                        .collect();
                    let verdict = name(classify(role, found, is_below_mark));
                    let case = format!("{role_name}, {found_name}, below a mark: {mark_name}");
                    assert_eq!(documented, [&verdict], "{case}");
                    compared += 1;
                }
            }
        }
        assert_eq!(compared, ROLES.len() * FOUND.len() * 2);
    }
}
