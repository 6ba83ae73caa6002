"""Claims of what the expected line brings: what it wins and leaves, how it ends, what comes next.

`outlook` is what is expected, threatened or kept back; `outcomes` and `aftermath` are what stands
at the line's end; `point` is the later move by which it wins.
"""
