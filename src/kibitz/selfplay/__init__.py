"""What searches teach: targets for training, from a search's tree."""
