//go:build !unix

package main

// onHangup does nothing where there is no such signal.
func onHangup(func()) (stop func()) { return func() {} }
