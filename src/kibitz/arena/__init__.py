"""Measuring players and machines: matches, suites, tuning, speed."""
