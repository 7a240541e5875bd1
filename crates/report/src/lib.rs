//! The parts of reports: statistics of measurements, charts in SVG and pages of HTML. Everything is a pure function.
//!
//! A page needs nothing but itself: styles and charts are inline, there is no script, and the browser shows the titles of
//! points as its own tooltips.
#![forbid(unsafe_code)]

pub mod chart;
pub mod dots;
pub mod heatmap;
pub mod histogram;
pub mod page;
pub mod scale;
pub mod statistics;
pub mod units;
