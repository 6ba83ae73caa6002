"""Neural networks: encoding -> **network** -> evaluator.

`card` is the network file and what it says about itself, `kinds` the kinds of input and output,
`encodings` what networks see and say, `models` their architectures, files and sizes, `evaluators`
what searches ask. `discover` says which network a name means, `load` opens it. `lc0` reads Leela's
files, by way of `onnx_model`.

Only `card` and, of `models`, sizes and make may be imported where torch must stay out.
"""
