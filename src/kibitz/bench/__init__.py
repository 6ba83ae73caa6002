"""Every measurement of speed; `kibitz bench` prints them."""
