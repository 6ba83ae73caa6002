"""What reading PGN needs: lines in linear time, and the notations of other languages."""
