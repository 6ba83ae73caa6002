"""Selection rules: their numbers and their scoring kernels."""
