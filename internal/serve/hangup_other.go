//go:build !unix

package serve

// onHangup does nothing where there is no such signal.
func onHangup(func()) (stop func()) { return func() {} }
