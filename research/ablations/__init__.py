"""What single parts are worth: switches of the search, options, ways to learn from nothing."""
