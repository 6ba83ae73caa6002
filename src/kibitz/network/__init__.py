"""Neural networks: architectures, sizes, files and export; encoding -> **network** -> evaluator.

Only `card`, `sizes` and `quantise` may be imported where torch must stay out.
"""
