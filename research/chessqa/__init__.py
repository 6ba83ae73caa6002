"""ChessQA (arXiv 2510.23948) answered from facts, claims and searches, without a language model."""
