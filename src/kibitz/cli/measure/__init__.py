"""Commands that measure: matches, suites, tuning, speed."""
