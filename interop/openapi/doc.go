// Package openapi judges the admin API by a library that nobody here wrote: whether its
// OpenAPI document is one, and whether a running server answers as the document says.
//
// It is a module of its own, so that Parley does not depend on that library.
package openapi
