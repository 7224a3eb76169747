//! Promise.
