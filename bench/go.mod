module github.com/offtake-go/offtake/bench

go 1.26.0

require (
	github.com/offtake-go/offtake v0.0.0
	golang.org/x/sync v0.25.0
)

replace github.com/offtake-go/offtake => ../
