//! Baselines that keep some messages and nothing of the others.

use super::material::{Material, Output};
use crate::fidelity::context::Context;
use crate::fidelity::statistics::Random;
use crate::units::Tokens;

const SEED: u64 = 0x1dea;

pub(super) fn keep_last(material: &Material<'_>, budget: Tokens) -> Context {
    let newest = (0..material.atoms.len()).rev();
    shown(material, &that_fit(material, newest, budget))
}

pub(super) fn head_tail(material: &Material<'_>, budget: Tokens) -> Context {
    let head = that_fit(material, 0..material.atoms.len(), Tokens(budget.0 / 2));
    let after = head.len();
    let used = shown(material, &head).tokens;
    let tail = that_fit(material, (after..material.atoms.len()).rev(), budget - used);
    shown(material, &[head, tail].concat())
}

pub(super) fn random(material: &Material<'_>, budget: Tokens) -> Context {
    let mut random = Random::new(SEED);
    let mut order: Vec<usize> = (0..material.atoms.len()).collect();
    for at in (1..order.len()).rev() {
        order.swap(at, random.below(at + 1));
    }
    let mut left = budget;
    order.retain(|at| {
        let tokens = material.cost(*at, Output::Shown);
        let fits = tokens <= left;
        if fits {
            left = left - tokens;
        }
        fits
    });
    shown(material, &order)
}

// Groups in this order up to the first that does not fit.
fn that_fit(material: &Material<'_>, order: impl Iterator<Item = usize>, budget: Tokens) -> Vec<usize> {
    let mut used = Tokens::ZERO;
    let fits = |at: &usize| {
        used += material.cost(*at, Output::Shown);
        used <= budget
    };
    order.take_while(fits).collect()
}

fn shown(material: &Material<'_>, chosen: &[usize]) -> Context {
    let mut chosen: Vec<(usize, Output)> = chosen.iter().map(|at| (*at, Output::Shown)).collect();
    chosen.sort_unstable_by_key(|(at, _)| *at);
    material.context(&chosen)
}
