"""Commentary: what is true of a move and worth saying, in plain words.

    position + search -> analysis -> facts -> claims/ -> select/ -> **words/**

`analyse` searches and makes an `analysis`, plain data that `cache` saves; all after it is pure.
`tactics` and `force` prove what is won. `judge` says which fault a move is and has the table of
symbols, claims/grades.py says which praise it gets. `annotate` does a game, `batch` files, `marks`
writes into the game's tree, `report` makes the page. `check` judges what others say; `decoder` puts
claims in a transformer's words.
"""
