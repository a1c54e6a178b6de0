"""The kernels in Triton. Importing a module from here needs torch and triton."""
