"""Asynchronous Jimeng generation tasks on AWS Lambda and MongoDB."""

__version__ = "0.1.0"
