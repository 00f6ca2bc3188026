package storetest

import "testing"

// Main runs the main groups of the suite: for a driver that passes all of it, by
// another way to the same store. fresh is as for Run.
func Main(t *testing.T, fresh func(t testing.TB) Opener) {
	for _, group := range [][]behaviour{logBehaviours, ownerBehaviours, takeBehaviours, shareBehaviours, mailBehaviours, keepBehaviours} {
		for _, b := range group {
			t.Run(b.name, func(t *testing.T) { b.test(t, fresh(t)) })
		}
	}
}
