//! Turns, exchanges and tool pairs: how a flat list of messages hangs together.
