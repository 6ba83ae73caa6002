"""The search tree: nodes and edges, allocation, compaction, proofs."""
