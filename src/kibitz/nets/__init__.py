"""Neural networks: encoding -> **network** -> evaluator.

    sizes           size strings, one dial per family
    card            the network file and what it says about itself
    convolutional   tower, plain, residual, se and dilated networks; heads: their outputs
    sparse          the CPU's network; sparse_kernels: its compiled loops
    build           from a card to a torch module, a file and ONNX
    quantise        the integers a sparse network plays with
    make            files from nothing and from one another

Only `card`, `sizes`, `quantise` and `make` may be imported where torch must stay out.
"""
