"""Which of the proved claims about a move are worth saying.

    claims/ -> rank -> kinds -> contrast -> further -> criticism -> **selection** -> words/

`rank` puts claims in order and leaves out what says the same, `kinds` sorts reasons. `contrast`
tells what is the fault of a bad move from what both lines have. `criticism` is of bad moves;
`further` has what it goes on to where their plain reasons explain little. `selection` is of all
moves.
"""
