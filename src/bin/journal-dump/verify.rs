//! The view `verify`: each finding with its place, then a summary.

use idjournal::inspect::{Finding, FindingPlace, Inspection, Severity, Statistics};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::json::{FILE, bytes};
use crate::output::Output;

/// Shows what was found; whether there is damage.
pub(crate) fn show(
    inspection: &mut Inspection,
    arguments: &Arguments,
    output: &mut Output,
) -> Result<bool, Failure> {
    let statistics = inspection.statistics()?;
    let mut findings: Vec<&Finding> = Vec::new();
    for finding in inspection.findings().iter().chain(&statistics.findings) {
        if !findings.contains(&finding) {
            findings.push(finding);
        }
    }
    for finding in &findings {
        if arguments.json {
            output.json(&JsonFinding(finding))?;
        } else {
            output.text(&finding.to_string())?;
        }
    }
    let of = |severity| {
        findings
            .iter()
            .filter(|one| one.severity() == severity)
            .count()
    };
    let summary = Summary {
        damages: of(Severity::Damage),
        notes: of(Severity::Note),
        statistics: &statistics,
    };
    if arguments.json {
        output.json(&summary)?;
    } else {
        output.text(&summary.text())?;
    }
    Ok(summary.damages > 0)
}

struct Summary<'a> {
    damages: usize,
    notes: usize,
    statistics: &'a Statistics,
}

impl Summary<'_> {
    fn verdict(&self) -> &'static str {
        if self.damages == 0 { "good" } else { "damaged" }
    }

    fn ids(&self) -> u64 {
        let addresses = self.statistics.addresses.iter();
        addresses.map(|address| address.live).sum()
    }

    fn text(&self) -> String {
        format!(
            "{}: damages {}, notes {}; segments {}, records {}, addresses {}, live IDs {}",
            self.verdict(),
            self.damages,
            self.notes,
            self.statistics.segments.len(),
            self.statistics.records,
            self.statistics.addresses.len(),
            self.ids(),
        )
    }
}

impl Serialize for Summary<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", "summary")?;
        map.serialize_entry("verdict", self.verdict())?;
        map.serialize_entry("damages", &self.damages)?;
        map.serialize_entry("notes", &self.notes)?;
        map.serialize_entry("segments", &self.statistics.segments.len())?;
        map.serialize_entry("records", &self.statistics.records)?;
        map.serialize_entry("addresses", &self.statistics.addresses.len())?;
        map.serialize_entry("live_ids", &self.ids())?;
        map.end()
    }
}

struct JsonFinding<'a>(&'a Finding);

impl Serialize for JsonFinding<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", "finding")?;
        let severity = match self.0.severity() {
            Severity::Damage => "damage",
            Severity::Note => "note",
        };
        map.serialize_entry("severity", severity)?;
        match &self.0.place {
            FindingPlace::Store { offset } => {
                bytes(&mut map, FILE, b"store")?;
                map.serialize_entry("offset", offset)?;
            }
            FindingPlace::Segment {
                number,
                slot,
                offset,
                ..
            } => {
                map.serialize_entry("segment", &number.0)?;
                map.serialize_entry("slot", &slot.map(|slot| slot.0))?;
                map.serialize_entry("offset", offset)?;
            }
            FindingPlace::File(name) => bytes(&mut map, FILE, &name.0)?,
            _ => {}
        }
        map.serialize_entry("reason", &self.0.reason.to_string())?;
        map.end()
    }
}
