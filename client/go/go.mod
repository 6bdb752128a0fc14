module example.org/conclave/client/go

go 1.26.0
