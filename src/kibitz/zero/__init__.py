"""Learning from nothing: games against itself, training on them, rating, again and again.

`config` has the settings and the formulas that turn them into those of one generation, `folder`
what a run keeps on the disk, `loop` the stages of a generation and their order, `rating` matches
and ratings, `status` the figures and what is shown, `cycle` other lists of stages.
"""
