"""Downloads: verified, resumed, cached by content, quiet about credentials."""
