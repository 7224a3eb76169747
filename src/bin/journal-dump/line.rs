//! A line of fixed columns in the making.

use std::fmt;

use idjournal::write_escaped;

/// A line; a column that is too short for its content moves the others to the right.
#[derive(Default)]
pub(crate) struct Line(Vec<u8>);

impl Line {
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Its bytes, with a newline and without spaces before that.
    pub(crate) fn end(&mut self) -> &[u8] {
        while self.0.last() == Some(&b' ') {
            self.0.pop();
        }
        self.0.push(b'\n');
        &self.0
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
    }

    /// Bytes of a caller; two quotes stand for none.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            self.text("\"\"");
        }
        // Writing to memory does not fail.
        let _ = write_escaped(self, bytes);
    }

    pub(crate) fn number(&mut self, number: u64) {
        self.right(number, 0);
    }

    /// A number whose last digit stands in column `width` from here.
    pub(crate) fn right(&mut self, number: u64, width: usize) {
        let mut digits = [b' '; 20];
        let mut left = number;
        let mut count = 0;
        for place in digits.iter_mut().rev() {
            *place = b"0123456789"[usize::try_from(left % 10).unwrap_or_default()];
            left /= 10;
            count += 1;
            if left == 0 {
                break;
            }
        }
        self.spaces(width.saturating_sub(count));
        self.0.extend(digits.iter().skip(digits.len() - count));
    }

    /// Text whose last character stands in column `width` from here.
    pub(crate) fn right_text(&mut self, text: &str, width: usize) {
        self.spaces(width.saturating_sub(text.len()));
        self.text(text);
    }

    /// One number of at least `width` digits.
    pub(crate) fn digits(&mut self, number: u64, width: usize) {
        let start = self.0.len();
        self.right(number, width);
        let digits = self.0.iter_mut().skip(start);
        digits
            .filter(|digit| **digit == b' ')
            .for_each(|digit| *digit = b'0');
    }

    pub(crate) fn spaces(&mut self, count: usize) {
        self.0.resize(self.0.len() + count, b' ');
    }

    /// Goes to `column`, or one space on.
    pub(crate) fn column(&mut self, column: usize) {
        let missing = column.saturating_sub(self.0.len());
        self.spaces(missing.max(1));
    }
}

impl fmt::Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.text(text);
        Ok(())
    }

    fn write_char(&mut self, character: char) -> fmt::Result {
        match u8::try_from(character) {
            Ok(byte) if byte.is_ascii() => self.0.push(byte),
            _ => self.text(character.encode_utf8(&mut [0; 4])),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_under_each_other_and_give_way() {
        let mut line = Line::default();
        line.right(42, 5);
        line.column(8);
        line.bytes(b"");
        line.column(9);
        line.digits(7, 3);
        line.right(u64::MAX, 2);
        line.spaces(3);
        assert_eq!(line.end(), b"   42   \"\" 00718446744073709551615\n");
    }
}
