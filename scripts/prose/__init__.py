"""The parts of the prose check: rules, the reading of each kind of file, recorded counts, reviewed false alarms, commit subjects."""
