#![doc = include_str!("calls.md")]
