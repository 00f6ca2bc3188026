// Package pages compares SECURITY.md, docs/bounds.md and docs/tour.md with the code,
// draws the map of the house from the imports, and looks for broken links and for
// sentences that read as translated. It has tests alone.
package pages
