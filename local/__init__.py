"""What a laptop needs and Lambda does not."""
