//! Tool output masked: the best of the simple ways, as it keeps what was said and done.

use super::material::{Material, Output};
use crate::fidelity::context::Context;
use crate::units::Tokens;

pub(super) fn mask(material: &Material<'_>, budget: Tokens) -> Context {
    material.context(&masked(material, budget))
}

/// The first message of the user and the newest groups that fit with their output masked; room that is left shows output
/// again, newest first.
pub(super) fn masked(material: &Material<'_>, budget: Tokens) -> Vec<(usize, Output)> {
    let request = material.request().filter(|at| material.cost(*at, Output::Masked) <= budget);
    let mut left = budget - request.map_or(Tokens::ZERO, |at| material.cost(at, Output::Masked));
    let mut chosen: Vec<(usize, Output)> = Vec::new();
    for at in (0..material.atoms.len()).rev().filter(|at| Some(*at) != request) {
        let tokens = material.cost(at, Output::Masked);
        if tokens > left {
            break;
        }
        left = left - tokens;
        chosen.push((at, Output::Masked));
    }
    for (at, output) in &mut chosen {
        let more = material.cost(*at, Output::Shown) - material.cost(*at, Output::Masked);
        if more > left {
            break;
        }
        left = left - more;
        *output = Output::Shown;
    }
    chosen.extend(request.map(|at| (at, Output::Shown)));
    chosen.sort_unstable_by_key(|(at, _)| *at);
    chosen
}
