"""What all rooms stand on: errors, files, options, long work that is kept, progress.

`errors` and `log` speak to people; `files`, `places`, `downloads` and `unpacking` read and write,
here or behind a URL, checked and with limits; `journal` keeps long work and goes on with it;
`options` declares an option once, `settings` reads the file of settings; `workers` and `cluster`
share work out; `provenance` is what a result rests on.
"""
