"""Architectures of networks, and their files made from nothing and from one another."""
