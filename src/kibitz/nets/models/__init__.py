"""Architectures of networks, and their files made from nothing and from one another.

sizes           size strings, one dial per family
convolutional   tower, plain, residual, se and dilated networks; heads: their outputs
sparse          the CPU's network; sparse_kernels: its compiled loops
build           from a card to a torch module, a file and ONNX
make            files from nothing and from one another, and the integers that play
"""
