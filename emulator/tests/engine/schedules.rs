//! Launches under several orders: what they leave alone, what they cost, what they report.
