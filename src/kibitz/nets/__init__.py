"""Neural networks: encoding -> **network** -> evaluator.

    sizes           size strings, one dial per family
    card            the network file and what it says about itself
    convolutional   tower, plain, residual, se and dilated networks; heads: their outputs
    sparse          the CPU's network; sparse_kernels: its compiled loops
    build           from a card to a torch module, a file and ONNX
    make            files from nothing and from one another, and the integers that play

Only `card`, `sizes` and `make` may be imported where torch must stay out.
"""
