"""The search-contempt paper's experiments, and kinds of search against each other."""
