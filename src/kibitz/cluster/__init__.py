"""Work on several machines, by Ray; other rooms only know `workers.in_processes`."""
