"""The facts that the resolver takes: what is in an environment, and what the machine has."""
