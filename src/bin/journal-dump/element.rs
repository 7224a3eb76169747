//! A change of a transaction as a line below its record.

use idjournal::inspect::{Element, Names, PREPARED_HOLE};

use crate::line::Line;
use crate::records::{ADDRESS, ID, address, below, ordinal};

/// Puts the change into the line; those of a prepare have no ordinals yet.
pub(crate) fn put(line: &mut Line, names: &Names, element: &Element<'_>, is_prepared: bool) {
    match element {
        Element::Add {
            address: number,
            ordinal: given,
            id,
            ..
        } => {
            below(line, "add");
            line.column(ADDRESS);
            address(line, names, *number);
            ordinal(line, Some(*given).filter(|_| !is_prepared));
            line.column(ID);
            line.bytes(id);
            if is_prepared && *given == PREPARED_HOLE {
                line.text(", removed again");
            }
        }
        Element::Remove {
            address: number,
            ordinal: removed,
        } => {
            below(line, "remove");
            line.column(ADDRESS);
            address(line, names, *number);
            ordinal(line, Some(*removed));
        }
        Element::Bookmark { name, value } => {
            below(line, "bookmark");
            line.column(ID);
            line.bytes(name);
            line.text(" = ");
            line.bytes(value);
        }
        _ => below(line, "unknown"),
    }
}
