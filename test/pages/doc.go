// Package pages compares SECURITY.md, docs/bounds.md and docs/tour.md with the code,
// and looks for sentences that read as translated. It has tests alone.
package pages
