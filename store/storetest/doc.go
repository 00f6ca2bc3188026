// Package storetest is the one suite that every driver of [store.Store]
// passes, with the tools to test what stands on a store: a fault injector, a
// checker of the whole state, and benchmarks.
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t testing.TB) storetest.Opener {
//			path := filepath.Join(t.TempDir(), "parley.db")
//			return func(t testing.TB) store.Store {
//				st, err := sqlite.Open(path, nil)
//				if err != nil {
//					t.Fatal(err)
//				}
//				return st
//			}
//		})
//	}
//
// The memory store is the oracle: [Random] runs the same random operations on
// it and on a driver and compares every answer. [Faulty] lets the n-th write
// fail without effect or after it took effect; [Check] then says whether what
// is left is whole.
//
// [Judge] runs the suite outside of a test, for a program that judges a database.
//
// The package depends on testing and github.com/google/go-cmp, which no other part of
// the program does: only tests and internal/storecheck import it, which the command
// line alone links.
package storetest
