//! Changes of a directory, derived from the input: fields, records, bytes, files; checksums are
//! made right again where the change says so, so that what is behind them is reached.

use arbitrary::Arbitrary;

use crate::bases::{BASES, Files, framed};
use crate::layout::{
    HEADER, SEGMENT_FIELDS, STORE_FIELDS, copies, mend_header, mend_record, mend_records, place,
    put, record_offsets,
};

const EDITS_MAX: usize = 24;
const FILE_BYTES_MAX: usize = 64 << 10;

/// A directory to begin from, and what is done to it.
#[derive(Arbitrary, Clone, Debug)]
pub struct Harmed {
    pub base: u8,
    pub edits: Vec<Edit>,
    pub options: u8,
}

/// One change; numbers of files, fields and records are taken modulo how many there are.
#[derive(Arbitrary, Clone, Debug)]
pub enum Edit {
    /// A field of one copy of a header or of both; the records follow a changed life or not.
    Field {
        file: u8,
        which_copies: u8,
        field: u8,
        value: Value,
        records_follow: bool,
    },
    /// Bytes within a record, which then has a right checksum.
    InRecord {
        file: u8,
        record: u8,
        offset: u8,
        bytes: [u8; 4],
    },
    /// A new record behind the last.
    Append {
        file: u8,
        kind: u8,
        flags: u8,
        body: Vec<u8>,
    },
    /// A record of one file behind the last of another, or of the same, for its new place or not.
    CopyRecord {
        from: u8,
        record: u8,
        to: u8,
        is_mended: bool,
    },
    /// Everything from a record on is cut off.
    EndAt {
        file: u8,
        record: u8,
    },
    Bytes {
        file: u8,
        offset: u16,
        bytes: [u8; 4],
    },
    Flip {
        file: u8,
        offset: u16,
        bit: u8,
    },
    Zeros {
        file: u8,
        from: u16,
        bytes: u16,
    },
    Cut {
        file: u8,
        bytes: u16,
    },
    Grow {
        file: u8,
        bytes: u16,
    },
    Swap {
        one: u8,
        other: u8,
    },
    Copy {
        from: u8,
        slot: u8,
    },
    Remove {
        file: u8,
    },
    Away {
        file: u8,
    },
    New {
        file: u8,
    },
    Name {
        file: u8,
        name: u8,
    },
    /// Both copies of all headers and all records get right checksums.
    Mend {
        file: u8,
    },
}

/// What a field is changed to.
#[derive(Arbitrary, Clone, Debug)]
pub enum Value {
    Plus(i8),
    Is(u64),
    Low(u16),
    /// What the same place of another file holds.
    Of(u8),
    /// What another place of the same header holds.
    Field(u8),
}

impl Harmed {
    pub fn files(&self) -> Files {
        let mut files = BASES[usize::from(self.base) % BASES.len()].clone();
        self.edits
            .iter()
            .take(EDITS_MAX)
            .for_each(|edit| edit.apply(&mut files));
        files
            .values_mut()
            .for_each(|bytes| bytes.truncate(FILE_BYTES_MAX));
        files
    }
}

fn name(files: &Files, file: u8) -> Option<String> {
    files
        .keys()
        .nth(usize::from(file) % files.len().max(1))
        .cloned()
}

fn offset_of(bytes: &[u8], record: u8) -> Option<usize> {
    let offsets = record_offsets(bytes);
    offsets
        .get(usize::from(record) % offsets.len().max(1))
        .copied()
}

/// Where there is room behind the last record.
fn end_of(bytes: &[u8]) -> usize {
    let last = record_offsets(bytes).last().copied();
    let end = last.and_then(|at| Some(at + crate::layout::record_bytes(bytes.get(at..)?)?));
    end.unwrap_or(2 * crate::layout::block_bytes(bytes.len()))
}

fn mend_at(bytes: &mut [u8], at: usize) {
    if let Some(mut place) = place(bytes, 0) {
        place.offset = at as u64;
        mend_record(bytes.get_mut(at..).unwrap_or_default(), &place);
    }
}

impl Edit {
    fn apply(&self, files: &mut Files) {
        let _ = self.try_apply(files);
    }

    fn try_apply(&self, files: &mut Files) -> Option<()> {
        match self {
            Edit::Field { file, .. } => {
                let name = name(files, *file)?;
                self.change_field(files, &name)
            }
            Edit::InRecord {
                file,
                record,
                offset,
                bytes,
            } => {
                let slot = files.get_mut(&name(files, *file)?)?;
                let at = offset_of(slot, *record)?;
                put(slot, at + 4 + usize::from(*offset), bytes);
                mend_at(slot, at);
                Some(())
            }
            Edit::Append {
                file,
                kind,
                flags,
                body,
            } => {
                let slot = files.get_mut(&name(files, *file)?)?;
                let at = end_of(slot);
                put(slot, at, &framed(*kind, *flags & !7, body));
                mend_at(slot, at);
                Some(())
            }
            Edit::CopyRecord {
                from,
                record,
                to,
                is_mended,
            } => {
                let source = files.get(&name(files, *from)?)?;
                let at = offset_of(source, *record)?;
                let length = crate::layout::record_bytes(&source[at..])?;
                let copied = source[at..at + length].to_vec();
                let slot = files.get_mut(&name(files, *to)?)?;
                let at = end_of(slot);
                put(slot, at, &copied);
                if *is_mended {
                    mend_at(slot, at);
                }
                Some(())
            }
            Edit::EndAt { file, record } => {
                let slot = files.get_mut(&name(files, *file)?)?;
                let at = offset_of(slot, *record)?;
                slot[at..].fill(0);
                Some(())
            }
            _ => self.change_bytes(files),
        }
    }

    fn change_bytes(&self, files: &mut Files) -> Option<()> {
        match self {
            Edit::Bytes {
                file,
                offset,
                bytes,
            } => {
                put(
                    files.get_mut(&name(files, *file)?)?,
                    usize::from(*offset),
                    bytes,
                );
            }
            Edit::Flip { file, offset, bit } => {
                let bytes = files.get_mut(&name(files, *file)?)?;
                let at = usize::from(*offset) % bytes.len().max(1);
                *bytes.get_mut(at)? ^= 1 << (bit % 8);
            }
            Edit::Zeros { file, from, bytes } => {
                let slot = files.get_mut(&name(files, *file)?)?;
                let from = usize::from(*from).min(slot.len());
                let to = (from + usize::from(*bytes)).min(slot.len());
                slot[from..to].fill(0);
            }
            Edit::Cut { file, bytes } => {
                files
                    .get_mut(&name(files, *file)?)?
                    .truncate(usize::from(*bytes));
            }
            Edit::Grow { file, bytes } => {
                let slot = files.get_mut(&name(files, *file)?)?;
                slot.resize((slot.len() + usize::from(*bytes)).min(FILE_BYTES_MAX), 0);
            }
            Edit::Mend { file } => {
                let name = name(files, *file)?;
                let bytes = files.get_mut(&name)?;
                let is_store = name.starts_with("store");
                copies(is_store, bytes.len())
                    .into_iter()
                    .for_each(|at| mend_header(bytes, at));
                if !is_store {
                    mend_records(bytes);
                }
            }
            _ => return self.change_names(files),
        }
        Some(())
    }

    fn change_names(&self, files: &mut Files) -> Option<()> {
        match self {
            Edit::Swap { one, other } => {
                let (one, other) = (name(files, *one)?, name(files, *other)?);
                let first = files.get(&one)?.clone();
                let second = files.insert(other, first)?;
                files.insert(one, second);
            }
            Edit::Copy { from, slot } => {
                let bytes = files.get(&name(files, *from)?)?.clone();
                files.insert(format!("slot-{:06}", slot % 12), bytes);
            }
            Edit::Remove { file } => {
                files.remove(&name(files, *file)?)?;
            }
            Edit::Away { file } => {
                let name = name(files, *file)?;
                let bytes = files.remove(&name)?;
                files.insert(format!("{name}.away"), bytes);
            }
            Edit::New { file } => {
                let name = name(files, *file)?;
                let bytes = files.get(&name)?.clone();
                files.insert(format!("{name}.new"), bytes);
            }
            Edit::Name { file, name: new } => {
                let old = name(files, *file)?;
                let bytes = files.remove(&old)?;
                let names = [
                    "slot-1",
                    "slot-0000001",
                    "notes",
                    "slot-999999",
                    "store",
                    "lock",
                ];
                files.insert(names[usize::from(*new) % names.len()].to_owned(), bytes);
            }
            _ => {}
        }
        Some(())
    }

    fn change_field(&self, files: &mut Files, name: &str) -> Option<()> {
        let Edit::Field {
            which_copies,
            field,
            value,
            records_follow,
            ..
        } = self
        else {
            return None;
        };
        let is_store = name.starts_with("store");
        let fields = if is_store {
            &STORE_FIELDS[..]
        } else {
            &SEGMENT_FIELDS[..]
        };
        let (at, length) = fields[usize::from(*field) % fields.len()];
        let other = match value {
            Value::Of(file) => files.get(&self::name(files, *file)?).cloned(),
            _ => None,
        };
        let bytes = files.get_mut(name)?;
        let places = copies(is_store, bytes.len());
        for (index, copy) in places.into_iter().enumerate() {
            if which_copies % 3 == index as u8 + 1 {
                continue;
            }
            let old = bytes.get(copy + at..copy + at + length)?;
            let low = old
                .iter()
                .rev()
                .take(8)
                .fold(0_u64, |word, byte| word << 8 | u64::from(*byte));
            let new = match value {
                Value::Plus(step) => low.wrapping_add_signed(i64::from(*step)),
                Value::Is(word) => *word,
                Value::Low(word) => u64::from(*word),
                Value::Of(_) => {
                    let other = other.as_ref()?.get(at..at + length)?.to_vec();
                    put(bytes, copy + at, &other);
                    mend_header(bytes, copy);
                    continue;
                }
                Value::Field(other) => {
                    let (at, _) = fields[usize::from(*other) % fields.len()];
                    crate::layout::u64_at(bytes, copy + at)?
                }
            };
            let new = new.to_le_bytes();
            let header = bytes.get_mut(copy..copy + HEADER)?;
            put(header, at, &new[..length.min(8)]);
            mend_header(bytes, copy);
        }
        if *records_follow && !is_store {
            mend_records(bytes);
        }
        Some(())
    }
}
