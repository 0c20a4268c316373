package suppress

import "net/http"

func sameLine(u string) {
	http.Get(u) //offtake:allow OT101 -- the peer is this very machine
}

func lineAbove(u string) {
	//offtake:allow OT101 -- the peer is this very machine
	http.Get(u)
}

// inDoc holds for all of the function.
//
//offtake:allow OT101 -- the peer is this very machine
func inDoc(u string) {
	http.Get(u)
}

func noReason(u string) {
	/* want `OT001: a suppression needs a reason of 8 letters or more` */ //offtake:allow OT101
	http.Get(u)                                                           // want `OT101: .*`
}

func shortReason(u string) {
	/* want `OT001: .*` */ //offtake:allow OT101 -- ok
	http.Get(u)            // want `OT101: .*`
}

func wrongRule(u string) {
	http.Get(u) /* want `OT101: .*` `OT002: nothing here needs OT102` */ //offtake:allow OT102 -- the peer is this very machine
}

func tooFar(u string) {
	//offtake:allow OT101 -- the peer is this very machine // want `OT002: nothing here needs OT101`

	http.Get(u) // want `OT101: .*`
}

//offtake:allowed OT101 -- misspelt // want `OT003: "offtake:allowed" is no directive`
func otherWord() {}

// offtake:allow OT101 -- a directive has no space before it // want `OT003: "offtake:allow" is no directive`
func notADirective(u string) {
	http.Get(u) // want `OT101: .*`
}

//offtake:allow OT999 -- there is no such rule // want `OT003: no rule "OT999", want //offtake:allow OT101 -- reason`
func unknownRule() {}

//offtake:allow -- every rule there is // want `OT003: no rule is named`
func blanket() {}

//offtake:allow OT001 -- may not be suppressed // want `OT003: OT001 can not be suppressed`
func meta() {}

//offtake:allow OT501 -- a rule that is off in this run
func offRule() {}
