"""skillopt-git: a repository that learns from its coding-agent sessions."""

__version__ = "0.1.0"
