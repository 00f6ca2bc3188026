// Package pages compares with the code what SECURITY.md and docs/bounds.md say,
// by tests alone.
package pages
