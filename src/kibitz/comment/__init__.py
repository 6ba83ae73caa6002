"""Commentary: what is true of a move and worth saying, in plain English.

    position + search -> facts -> claims/ -> **words/**

`analyse` searches, `tactics` and `prover` prove what is said, `judge` labels moves, `annotate`,
`marks` and `batch` do games and files, `report` makes the page. `decoder/` puts claims in a
transformer's words instead.
"""
