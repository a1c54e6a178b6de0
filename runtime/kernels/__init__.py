"""Kernels that apply masks: to logits, while sampling, and inside the output layer.

Each has a plain reference in PyTorch (``reference``, ``sampling``, ``output_layer``), which tests compare
with and which runs without CUDA and triton. Torch and triton are imported only on use.
"""
