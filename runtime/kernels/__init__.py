"""Kernels that apply masks: to logits, while sampling, and inside the output layer.

Each has a plain reference in PyTorch beside it (``reference``, ``sampling``, ``output_layer``), which is what the tests
compare with and what runs where there is neither CUDA nor triton. Nothing here imports torch or triton before it is used.
"""
