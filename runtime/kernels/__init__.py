"""Kernels that apply masks: to logits, while sampling, and inside the output layer.

Each kernel has a plain reference in PyTorch (``reference``, ``sampling``, ``output_layer``) for comparison in
tests, and for use without CUDA and triton. Torch and triton are imported only on use.
"""
