package dialect

// EncodedSize estimates how many bytes an answer or an event takes once it is encoded:
// raw bytes become base64, and JSON escapes some of a text.
func EncodedSize(res any) int64 {
	if r, ok := res.(interface{ Size() int }); ok {
		return int64(r.Size()) * 3 / 2
	}
	return 0
}
