//! The `epitome` command.

fn main() {}
