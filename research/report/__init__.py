"""The reproduction report: papers, stored results, and the numbers of our pages."""
