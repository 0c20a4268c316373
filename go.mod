module github.com/offtake-go/offtake

go 1.26.0
