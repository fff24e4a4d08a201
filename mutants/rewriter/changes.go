package main

import (
	"go/ast"
	"go/token"
	"strconv"
)

// A change is one edit of the source text.
type change struct {
	from, to token.Pos
	at       token.Pos // what names it: not always `from`
	text     string
	operator string
}

var swapped = map[token.Token]token.Token{
	token.LAND: token.LOR, token.LOR: token.LAND,
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL,
	token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL,
	token.OR: token.AND, token.AND: token.OR,
	token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN,
	token.INC: token.DEC, token.DEC: token.INC,
}

var operators = map[token.Token]string{
	token.LAND: "logic", token.LOR: "logic",
	token.LSS: "bound", token.LEQ: "bound", token.GTR: "bound", token.GEQ: "bound",
	token.EQL: "equality", token.NEQ: "equality",
}

// A finder collects the changes of a function.
type finder struct {
	text       func(from, to token.Pos) string
	elsewhere  map[string]bool
	only       map[string]bool
	constants  map[string]ast.Expr
	last       ast.Stmt
	conditions map[ast.Expr]bool
	found      []change
}

func (f *finder) add(operator string, from, to token.Pos, text string) {
	f.addAt(operator, from, from, to, text)
}

func (f *finder) addAt(operator string, at, from, to token.Pos, text string) {
	f.found = append(f.found, change{from: from, to: to, at: at, text: text, operator: operator})
}

// block visits the statements of a block or of a case.
func (f *finder) block(statements []ast.Stmt, isCase bool) {
	for position, each := range statements {
		f.statement(each)
		branch, isBranch := each.(*ast.BranchStmt)
		isLastBreak := isCase && isBranch && branch.Tok == token.BREAK && position == len(statements)-1
		if droppable(each) && each != f.last && !isLastBreak && f.isAbout(each) {
			f.add("drop", each.Pos(), each.End(), "")
		}
	}
}

func droppable(statement ast.Stmt) bool {
	switch each := statement.(type) {
	case *ast.AssignStmt:
		return each.Tok != token.DEFINE
	case *ast.ExprStmt, *ast.IncDecStmt, *ast.BranchStmt, *ast.ReturnStmt, *ast.DeferStmt, *ast.GoStmt, *ast.SendStmt:
		return true
	}
	return false
}

// statement visits one statement; what has to do with something else is left out with all that is in it.
func (f *finder) statement(statement ast.Stmt) {
	switch each := statement.(type) {
	case *ast.BlockStmt:
		f.block(each.List, false)
	case *ast.LabeledStmt:
		f.statement(each.Stmt)
	case *ast.IfStmt:
		if !f.isElsewhere(each.Init) && !f.isElsewhere(each.Cond) {
			f.head(each.Init)
			f.condition(each.Cond)
			f.block(each.Body.List, false)
		}
		if each.Else != nil {
			f.statement(each.Else)
		}
	case *ast.ForStmt:
		if !f.isElsewhere(each.Init) && !f.isElsewhere(each.Cond) {
			f.head(each.Init)
			f.condition(each.Cond)
			f.head(each.Post)
			f.block(each.Body.List, false)
		}
	case *ast.RangeStmt:
		if !f.isElsewhere(each.X) {
			f.expressions(each.X)
			f.block(each.Body.List, false)
		}
	case *ast.SwitchStmt:
		if !f.isElsewhere(each.Init) && !f.isElsewhere(each.Tag) {
			f.head(each.Init)
			f.expressions(each.Tag)
			f.cases(each.Body.List, each.Tag == nil)
		}
	case *ast.TypeSwitchStmt:
		f.cases(each.Body.List, false)
	case *ast.SelectStmt:
		for _, clause := range each.Body.List {
			f.block(clause.(*ast.CommClause).Body, true)
		}
	default:
		f.expressions(statement)
	}
}

func (f *finder) cases(clauses []ast.Stmt, conditions bool) {
	for _, each := range clauses {
		clause := each.(*ast.CaseClause)
		for _, value := range clause.List {
			if f.isElsewhere(value) {
				continue
			}
			if conditions {
				f.condition(value)
			} else {
				f.expressions(value)
			}
		}
		f.block(clause.Body, true)
	}
}

func (f *finder) head(statement ast.Stmt) {
	if statement != nil {
		f.expressions(statement)
	}
}

// condition negates a condition as a whole, and visits its parts.
func (f *finder) condition(condition ast.Expr) {
	if condition == nil {
		return
	}
	if f.isAbout(condition) {
		f.add("negate", condition.Pos(), condition.End(), "!("+f.text(condition.Pos(), condition.End())+")")
	}
	f.conditions[condition] = true
	f.expressions(condition)
}

// expressions visits what is inside a statement or an expression that has no blocks, function literals apart.
func (f *finder) expressions(node ast.Node) {
	if node == nil || !f.isAbout(node) {
		return
	}
	ast.Inspect(node, func(node ast.Node) bool {
		switch each := node.(type) {
		case *ast.FuncLit:
			f.literalFunction(each)
			return false
		case *ast.CallExpr:
			if name, ok := each.Fun.(*ast.Ident); ok && name.Name == "make" { // sizes are hints
				return false
			}
		case *ast.SelectorExpr:
			f.expressions(each.X)
			return false
		case *ast.BinaryExpr:
			f.binary(each)
		case *ast.UnaryExpr:
			if each.Op == token.NOT && !f.conditions[each] {
				f.add("not", each.Pos(), each.X.Pos(), "")
			}
		case *ast.IncDecStmt:
			f.swap("arithmetic", each.TokPos, each.Tok)
		case *ast.AssignStmt:
			if _, known := swapped[each.Tok]; known {
				f.swap("arithmetic", each.TokPos, each.Tok)
			}
		case *ast.BasicLit:
			f.literal(each, each.Pos(), each.End(), func(text string) string { return text })
		case *ast.Ident:
			f.identifier(each)
		}
		return true
	})
}

// literalFunction visits the whole of a function literal: what it belongs to has decided that it is visited.
func (f *finder) literalFunction(function *ast.FuncLit) {
	only := f.only
	f.only = nil
	f.block(function.Body.List, false)
	f.only = only
}

func (f *finder) binary(each *ast.BinaryExpr) {
	isEquality := each.Op == token.EQL || each.Op == token.NEQ
	if f.conditions[each] && isEquality { // the same as its negation
		return
	}
	if _, known := swapped[each.Op]; known {
		operator := operators[each.Op]
		if operator == "" {
			operator = "arithmetic"
		}
		f.swap(operator, each.OpPos, each.Op)
	}
}

func (f *finder) swap(operator string, at token.Pos, tok token.Token) {
	f.add(operator, at, at+token.Pos(len(tok.String())), swapped[tok].String())
}

func (f *finder) literal(each *ast.BasicLit, from, to token.Pos, within func(string) string) {
	if each.Kind != token.INT {
		return
	}
	value, err := strconv.ParseInt(each.Value, 0, 64)
	if err != nil {
		return
	}
	f.addAt("plus-1", each.Pos(), from, to, within(strconv.FormatInt(value+1, 10)))
	f.addAt("minus-1", each.Pos(), from, to, within("("+strconv.FormatInt(value-1, 10)+")"))
	if value > 1 {
		f.addAt("times-2", each.Pos(), from, to, within(strconv.FormatInt(value*2, 10)))
	}
}

func (f *finder) identifier(each *ast.Ident) {
	switch {
	case each.Name == "true":
		f.add("boolean", each.Pos(), each.End(), "false")
	case each.Name == "false":
		f.add("boolean", each.Pos(), each.End(), "true")
	case f.constants[each.Name] != nil:
		value := f.constants[each.Name]
		ast.Inspect(value, func(node ast.Node) bool {
			if literal, ok := node.(*ast.BasicLit); ok {
				f.literal(literal, each.Pos(), each.End(), func(text string) string {
					return "(" + f.text(value.Pos(), literal.Pos()) + text + f.text(literal.End(), value.End()) + ")"
				})
			}
			return true
		})
	}
}

// isElsewhere says whether a node mentions something that has nothing to do with restarts.
func (f *finder) isElsewhere(node ast.Node) bool {
	return mentions(node, f.elsewhere)
}

// isAbout says whether mutants are to be made of a node.
func (f *finder) isAbout(node ast.Node) bool {
	return !f.isElsewhere(node) && (len(f.only) == 0 || mentions(node, f.only))
}

func mentions(node ast.Node, names map[string]bool) bool {
	if node == nil {
		return false
	}
	found := false
	ast.Inspect(node, func(node ast.Node) bool {
		switch each := node.(type) {
		case *ast.Ident:
			found = found || names[each.Name]
		case *ast.FuncLit:
			return false
		}
		return true
	})
	return found
}
