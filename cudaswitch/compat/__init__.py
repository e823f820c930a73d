"""What goes with what, as typed rows read from our own data files; each row cites its source."""
