"""Speed, memory and scale, side by side with what else there is."""
