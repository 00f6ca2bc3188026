// Package archive moves whole stores as text: [Export] writes all tasks, [Import]
// puts them into a store of any driver.
//
//	count, sum, err := archive.Export(ctx, src, file)
//	imported, err := archive.Import(ctx, dst, file, false)
//
// Export reads beside servers and writers. Nothing but the import should write to a
// store while it is imported into: [Mark] says so for as long as it takes. Callers
// may test for [ErrImporting] and [ErrNotEmpty]; other errors are about the export,
// the file or the store.
package archive
