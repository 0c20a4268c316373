package admission

import "net/http"

func WriteError(w http.ResponseWriter, err error) {}
