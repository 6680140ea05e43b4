//! What the codes and the statuses of errors mean.

use super::Kind;

const OVERFLOW: Kind = Kind::Overflow { limit: None, requested: None };

/// The codes and types that tell, in small letters.
const CODES: &[(&str, Kind)] = &[
    ("context_length_exceeded", OVERFLOW),
    ("context_window_exceeded", OVERFLOW),
    ("model_context_window_exceeded", OVERFLOW),
    ("exceed_context_size_error", OVERFLOW),
    ("model_max_prompt_tokens_exceeded", OVERFLOW),
    ("request_too_large", Kind::TooLarge),
    ("string_above_max_length", Kind::TooLarge),
    ("insufficient_quota", Kind::Billing),
    ("insufficient_credits", Kind::Billing),
    ("billing_error", Kind::Billing),
    ("billing_hard_limit_reached", Kind::Billing),
    ("rate_limit_error", Kind::RateLimited),
    ("rate_limit_exceeded", Kind::RateLimited),
    ("too_many_requests", Kind::RateLimited),
    ("resource_exhausted", Kind::RateLimited),
    ("throttlingexception", Kind::RateLimited),
    ("overloaded_error", Kind::Overloaded),
    ("engine_overloaded_error", Kind::Overloaded),
    ("server_is_overloaded", Kind::Overloaded),
    ("slow_down", Kind::Overloaded),
    ("unavailable_error", Kind::Overloaded),
    ("authentication_error", Kind::Auth),
    ("permission_error", Kind::Auth),
    ("invalid_api_key", Kind::Auth),
    ("permission_denied", Kind::Auth),
    ("unauthenticated", Kind::Auth),
    ("not_found_error", Kind::NotFound),
    ("model_not_found", Kind::NotFound),
    ("timeout_error", Kind::Timeout),
    ("api_error", Kind::Server),
    ("server_error", Kind::Server),
    ("internal_server_error", Kind::Server),
];

/// What these codes mean together: the one that the table names first.
pub(super) fn of_codes(codes: &[String]) -> Option<Kind> {
    CODES.iter().find(|(code, _)| codes.iter().any(|given| given == code)).map(|(_, kind)| *kind)
}

/// What a status means where nothing else tells.
pub(super) fn of_status(status: u16) -> Kind {
    match status {
        401 | 403 | 407 => Kind::Auth,
        402 => Kind::Billing,
        404 | 410 => Kind::NotFound,
        408 | 504 | 524 => Kind::Timeout,
        413 => Kind::TooLarge,
        425 | 503 | 529 => Kind::Overloaded,
        429 => Kind::RateLimited,
        501 | 505 => Kind::Refused,
        // A conflict goes away by itself; the providers' own clients try again.
        409 | 500..=599 => Kind::Server,
        // An error in the midst of a good reply that does not say what it is.
        200..=299 => Kind::Server,
        _ => Kind::Refused,
    }
}
