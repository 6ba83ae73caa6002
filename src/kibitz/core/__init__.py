"""What all rooms stand on: errors, files, options, long work that is kept, progress."""
