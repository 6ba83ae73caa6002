"""The page in the browser: play, analyse, watch the search think, annotate, look at trainings.

browser <-> server -> connection -> requests -> engines, files

Everything that computes is Python here; the page draws and asks. The rules of chess are here, too:
the page learns from the server which moves are legal.
"""
