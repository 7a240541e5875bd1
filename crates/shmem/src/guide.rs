//! Chapters.
