"""Learning from nothing: games against itself, training on them, rating, again and again.

`config` has the settings and the formulas that turn them into those of one generation, `folder`
what a run keeps on the disk, `stages` the work on one generation, `rating` matches and ratings,
`loop` the order of the stages, `status` the figures and what is shown, `prune` what can be deleted.
"""
