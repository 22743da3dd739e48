package tests

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
)

// reassignments finds package variables of one package that a function assigns to, counts up or takes the address of;
// sources are its files by name. It judges by name: a local variable of the same name in the same function hides the
// package's from it, so that it never cries wolf.
func reassignments(sources map[string][]byte) []string {
	files := token.NewFileSet()
	var parsed []*ast.File
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		file, err := parser.ParseFile(files, name, sources[name], parser.SkipObjectResolution)
		if err != nil {
			return []string{err.Error()}
		}
		parsed = append(parsed, file)
	}
	variables := packageVariables(parsed)
	var faults []string
	for _, file := range parsed {
		for _, declaration := range file.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok || function.Body == nil {
				continue
			}
			local := localNames(function)
			for _, written := range writtenNames(function.Body) {
				if variables[written.Name] && !local[written.Name] {
					at := files.Position(written.Pos())
					faults = append(faults, fmt.Sprintf("%s:%d: %s is a package variable and must not change: hand it to who needs it",
						at.Filename, at.Line, written.Name))
				}
			}
		}
	}
	return faults
}

func packageVariables(parsed []*ast.File) map[string]bool {
	variables := map[string]bool{}
	for _, file := range parsed {
		for _, declaration := range file.Decls {
			group, ok := declaration.(*ast.GenDecl)
			if !ok || group.Tok != token.VAR {
				continue
			}
			for _, spec := range group.Specs {
				for _, name := range spec.(*ast.ValueSpec).Names {
					variables[name.Name] = name.Name != "_"
				}
			}
		}
	}
	return variables
}

// localNames are the names that a function declares anywhere: receiver, parameters, results and its own variables.
func localNames(function *ast.FuncDecl) map[string]bool {
	names := map[string]bool{}
	add := func(expr ast.Expr) {
		if name, ok := expr.(*ast.Ident); ok {
			names[name.Name] = true
		}
	}
	ast.Inspect(function, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.Field:
			for _, name := range node.Names {
				add(name)
			}
		case *ast.ValueSpec:
			for _, name := range node.Names {
				add(name)
			}
		case *ast.AssignStmt:
			if node.Tok == token.DEFINE {
				for _, left := range node.Lhs {
					add(left)
				}
			}
		case *ast.RangeStmt:
			if node.Tok == token.DEFINE {
				add(node.Key)
				add(node.Value)
			}
		}
		return true
	})
	return names
}

// writtenNames are the names at the root of what is assigned to, counted or addressed.
func writtenNames(body *ast.BlockStmt) []*ast.Ident {
	var written []*ast.Ident
	add := func(expr ast.Expr) {
		if name := rootName(expr); name != nil {
			written = append(written, name)
		}
	}
	ast.Inspect(body, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.AssignStmt:
			if node.Tok != token.DEFINE {
				for _, left := range node.Lhs {
					add(left)
				}
			}
		case *ast.IncDecStmt:
			add(node.X)
		case *ast.UnaryExpr:
			if node.Op == token.AND {
				add(node.X)
			}
		}
		return true
	})
	return written
}

// rootName is x in x, x.f, x[i] and *x; nil where there is none, as in f().x.
func rootName(expr ast.Expr) *ast.Ident {
	for {
		switch e := expr.(type) {
		case *ast.Ident:
			return e
		case *ast.SelectorExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.StarExpr:
			expr = e.X
		case *ast.ParenExpr:
			expr = e.X
		default:
			return nil
		}
	}
}
