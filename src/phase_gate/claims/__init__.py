"""What an agent says about its work, weighed against what was measured. Begin with `decision`."""
