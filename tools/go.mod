module github.com/offtake-go/offtake/tools

go 1.26.0

require github.com/offtake-go/offtake v0.0.0

replace github.com/offtake-go/offtake => ../
