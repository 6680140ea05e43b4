//! Spec 008.1 v4, token estimation: its test cases by name, and its numbers.

use epitome_core::calibrate::TokenEstimator;
use epitome_core::{Chars, Tokens};

#[test]
fn test_token_estimator_initial() {
    let estimator = TokenEstimator::default();
    assert_eq!((estimator.ratio(), estimator.samples()), (0.25, 0));
    for (chars, tokens) in [(0, 1), (1, 1), (3, 1), (4, 1), (7, 1), (8, 2), (400, 100), (401, 100)] {
        assert_eq!(estimator.estimate(Chars(chars)), Tokens(tokens), "{chars} characters");
    }
    // Four more for the role and the structure of each message; an empty one is a token, too.
    assert_eq!(estimator.estimate_messages([Chars(400), Chars(0)]), Tokens(100 + 4 + 1 + 4));
    assert_eq!(estimator.estimate_messages([]), Tokens::ZERO);
}

#[test]
fn test_token_estimator_calibration() {
    let mut estimator = TokenEstimator::default();
    let actual = 0.35;
    let mut error = (estimator.ratio() - actual).abs();
    for sample in 1..=50 {
        estimator.calibrate(Chars(10_000), Tokens(3_500));
        let closer = (estimator.ratio() - actual).abs();
        assert!(closer < error, "call {sample} did not improve the ratio");
        assert_eq!(estimator.samples(), sample);
        error = closer;
    }
    assert!(error < 0.001);
}

#[test]
fn one_observation_counts_a_tenth() {
    let mut estimator = TokenEstimator::default();
    estimator.calibrate(Chars(1_000), Tokens(450));
    assert!((estimator.ratio() - (0.1 * 0.45 + 0.9 * 0.25)).abs() < 1e-12);
}

#[test]
fn zero_teaches_nothing() {
    let mut estimator = TokenEstimator::default();
    estimator.calibrate(Chars(0), Tokens(100));
    estimator.calibrate(Chars(100), Tokens(0));
    assert_eq!(estimator, TokenEstimator::default());
}
