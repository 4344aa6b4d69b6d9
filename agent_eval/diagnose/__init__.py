"""Why something did not pass: run records -> causes, by rules that have a code and a long form."""
