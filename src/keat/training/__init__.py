"""The loops that run models on tasks."""
