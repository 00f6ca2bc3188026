package a2a

// MaxParts is how many parts the message of a request may have.
const MaxParts = 1000

const tooManyParts = "at most 1000 parts are allowed in one message"
