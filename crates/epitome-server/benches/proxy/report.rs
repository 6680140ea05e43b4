//! The figures in words: what each adds to the direct way, and how that compares with the bare pass-through.

use crate::load::Load;

pub(crate) fn print(load: Load, measured: &[(String, f64)]) {
    println!("{}", load.name);
    let (direct, bare) = (measured[0].1, measured[1].1);
    for (name, figure) in measured {
        if load.is_rate() {
            println!("  {name:<24} {figure:>10.0}/s  {:>6.2} of bare", figure / bare);
        } else {
            let (added, by_bare) = (figure - direct, bare - direct);
            println!("  {name:<24} {figure:>8.3} ms  adds {added:>7.3} ms  {:>6.2}x bare", added / by_bare);
        }
    }
}
