//! Beside other libraries.
