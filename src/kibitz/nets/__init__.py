"""Neural networks: encoding -> **network** -> evaluator.

`card` is what a network file says of its network, `files` writes and reads them with their cards,
`encodings` what networks see and say, `models` their architectures, files and sizes, `evaluators`
what searches ask. `discover` says which network a name means, `load` opens it. `lc0` reads Leela's
files, by way of `onnx_model`.

Only `card`, `files` and, of `models`, sizes and make may be imported where torch must stay out.
"""
