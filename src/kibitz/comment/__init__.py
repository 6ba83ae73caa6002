"""Commentary: what is true of a move and worth saying, in plain English.

    position + search -> analysis -> facts -> claims/ -> select -> **english/**

`analyse` searches and makes an `analysis`, plain data that `kept` keeps; all after it is pure.
`tactics` and `force` prove what is won, `judge` labels moves, `annotate`, `marks` and `batch` do
games and files, `report` makes the page. `decoder/` puts claims in a transformer's words instead.
"""
