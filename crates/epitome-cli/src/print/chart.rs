//! The growth of a context, drawn in block characters.

use super::grouped;

const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A chart of `values` (one a turn, in order), `width` columns wide and `height` lines high, with its scale at the left.
pub(crate) fn growth(values: &[u64], width: usize, height: usize) -> String {
    let highest = values.iter().copied().max().unwrap_or(0);
    if highest == 0 || width == 0 || height == 0 {
        return String::new();
    }
    let columns = resample(values, width);
    let label_width = grouped(highest).len();
    let mut out = String::new();
    for line in (0..height).rev() {
        let label = match line {
            top if top + 1 == height => grouped(highest),
            0 => "0".to_owned(),
            _ => String::new(),
        };
        out.push_str(&format!("  {label:>label_width$} ┤"));
        for value in &columns {
            let eighths = (*value as f64 / highest as f64 * (height * 8) as f64).round() as usize;
            out.push(EIGHTHS[eighths.saturating_sub(line * 8).min(8)]);
        }
        out.truncate(out.trim_end_matches(' ').len());
        out.push('\n');
    }
    let last = format!("turn {}", grouped(values.len() as u64));
    let first = "turn 1";
    let space = columns.len().saturating_sub(first.len() + last.len());
    let ends = if space > 0 { format!("{first}{}{last}", " ".repeat(space)) } else { last };
    out.push_str(&format!("  {:>label_width$}  {ends}\n", ""));
    out
}

// Fewer turns than columns are stretched, so that a short session fills the chart, too; of more, each column shows its largest.
fn resample(values: &[u64], width: usize) -> Vec<u64> {
    let columns = if values.len() < width { values.len() * (width / values.len()).max(1) } else { width };
    let share = |column: usize| column * values.len() / columns;
    let largest = |column: usize| {
        let (from, to) = (share(column), share(column + 1).max(share(column) + 1));
        values.get(from..to.min(values.len())).unwrap_or_default().iter().copied().max().unwrap_or(0)
    };
    (0..columns).map(largest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ramp_is_drawn_as_a_ramp() {
        let chart = growth(&[0, 500, 1000], 9, 2);
        assert_eq!(chart, "  1,000 ┤      ███\n      0 ┤   ██████\n         turn 3\n");
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        assert_eq!(growth(&[], 10, 4), "");
        assert_eq!(growth(&[0, 0], 10, 4), "");
    }

    #[test]
    fn long_sessions_keep_their_peaks() {
        let values: Vec<u64> = (0..1000).map(|turn| if turn == 777 { 50 } else { 1 }).collect();
        assert_eq!(resample(&values, 40).into_iter().max(), Some(50));
        assert_eq!(resample(&values, 40).len(), 40);
    }
}
