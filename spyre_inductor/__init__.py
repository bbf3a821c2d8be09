"""TorchInductor backend for the Spyre device. Importing it does nothing; see registration.py."""

__version__ = "0.1.0"
