//go:build !linux

package main

// Only Linux says what another process has used, and lets processes be kept
// apart, in ways that this program knows.

func usageOf(int) usage { return usage{} }

func ownUsage() usage { return usage{} }

func apart() (bool, error) { return false, nil }

func onServers(start func() error) error { return start() }

func machineMemory() int64 { return 0 }

func machineModel() string { return "" }

func forget(string) error { return lacks("this system cannot be told to drop files from its memory") }

func onDisk(string) error { return nil }

func everywhere(int) error { return nil }

func familyUsage(int) usage { return usage{} }
