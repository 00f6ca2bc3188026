package dialect

import "flag"

var long = flag.Bool("long", false, "make all random values; without it tests make the first quarter of them")

// many is how many random values of n a test makes.
func many(n int) int {
	if *long {
		return n
	}
	return n / 4
}
