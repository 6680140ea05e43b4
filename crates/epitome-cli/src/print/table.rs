//! Plain aligned columns, without rules or boxes.

use super::{FAINT, paint};

/// To which side a column leans.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Rows of cells under headings.
pub(crate) struct Table {
    headings: Vec<(&'static str, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table with these headings.
    pub(crate) fn new(headings: &[(&'static str, Align)]) -> Self {
        Self { headings: headings.to_vec(), rows: Vec::new() }
    }

    /// Adds a row, one cell a heading.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The table as text, indented by two spaces; nothing where there is no row.
    pub(crate) fn render(&self) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let widths: Vec<usize> = (0..self.headings.len())
            .map(|column| {
                let cells = self.rows.iter().filter_map(|row| row.get(column));
                cells.map(|cell| width(cell)).chain([self.headings[column].0.len()]).max().unwrap_or(0)
            })
            .collect();
        let headings: Vec<String> = self.headings.iter().map(|(name, _)| (*name).to_owned()).collect();
        let mut out = format!("{}\n", paint(FAINT, self.line(&headings, &widths)));
        for row in &self.rows {
            out.push_str(&self.line(row, &widths));
            out.push('\n');
        }
        out
    }

    fn line(&self, cells: &[String], widths: &[usize]) -> String {
        let mut line = String::from(" ");
        for ((cell, width_wanted), (_, align)) in cells.iter().zip(widths).zip(&self.headings) {
            let gap = " ".repeat(width_wanted.saturating_sub(width(cell)));
            line.push(' ');
            match align {
                Align::Left => line.extend([cell.as_str(), &gap]),
                Align::Right => line.extend([gap.as_str(), cell]),
            }
            line.push(' ');
        }
        line.truncate(line.trim_end().len());
        line
    }
}

// Cells hold short labels and numbers; wide scripts in a tool's name may shift a column, never lose text.
fn width(cell: &str) -> usize {
    cell.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align() {
        let mut table = Table::new(&[("tool", Align::Left), ("tokens", Align::Right)]);
        assert_eq!(table.render(), "");
        table.row(["bash".to_owned(), "12,000".to_owned()]);
        table.row(["read_file".to_owned(), "7".to_owned()]);
        let plain = anstream::adapter::strip_str(&table.render()).to_string();
        assert_eq!(plain, "  tool       tokens\n  bash       12,000\n  read_file       7\n");
    }
}
