"""Which of the proved claims about a move are worth saying.

    claims/ -> rank -> reasons -> kinds -> contrast
           -> further -> criticism -> **selection** -> words/

`rank` puts claims in order and leaves out what says the same; `reasons` are those for a move that
was not made, `kinds` sorts them. `contrast` tells what is the fault of a bad move from what both
lines have. `criticism` is of bad moves; `further` has what it goes on to where their plain reasons
explain little. `selection` is of all moves.
"""
