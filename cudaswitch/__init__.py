"""cudaswitch: the CUDA toolkit and cuDNN that each environment needs, switched by itself."""

__version__ = "0.1.0"
