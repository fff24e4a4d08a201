module crashloop/mutants/rewriter

go 1.24
