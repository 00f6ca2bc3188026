package dialect

import "flag"

var long = flag.Bool("long", false, "make all random values; without it tests make the first quarter of them")

// many returns how many of n random values a test makes.
func many(n int) int {
	if *long {
		return n
	}
	return n / 4
}
