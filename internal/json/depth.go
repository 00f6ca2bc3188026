package json

// Depth is how many levels a JSON document nests: 0 without any object or array.
// Of what is no JSON it is some number.
func Depth(doc []byte) (deepest int) {
	depth, inText := 0, false
	for i := 0; i < len(doc); i++ {
		switch c := doc[i]; {
		case inText:
			if c == '\\' {
				i++
			}
			inText = c != '"'
		case c == '"':
			inText = true
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}
