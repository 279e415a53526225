"""The Jimeng web API as a `Provider`; nothing outside this package knows its wire format."""

from .client import JimengWeb

__all__ = ["JimengWeb"]
