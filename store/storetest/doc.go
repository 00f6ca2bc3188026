// Package storetest is the suite that every driver of [store.Store] must pass. It also has
// tools to test code that uses a store: a fault injector, a checker of the whole state, and
// benchmarks.
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
// The memory store is the oracle: [Random] runs the same random operations on it and on a
// driver and compares every answer. [Faulty] makes the n-th write fail, either without effect
// or after taking effect; [Check] then checks the resulting state.
//
// [Judge] runs the suite outside of a test, for a program that judges a database.
//
// The package depends on testing and github.com/google/go-cmp, which no other part of the
// program uses: only tests and internal/storecheck import it, and only the command line links
// that.
package storetest
