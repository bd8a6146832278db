"""What an inference token costs, with units."""
