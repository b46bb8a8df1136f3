/**
 * Goal: the house rules that a machine can check stay true without anybody thinking of them.
 * Method: text rules over every file of the checkout; code rules over code with comments and
 * strings blanked out; a brace matcher for the length of functions, tested on its own.
 */
import assert from 'node:assert/strict'
import { basename } from 'node:path'
import { describe, test } from 'node:test'
import { blankNonCode, readSourceFiles, type SourceFile } from './source-files.ts'

const FILE_LINES_MAX = 400
/** Of a file that is one class: to cut it would only scatter one idea. */
const CLASS_LINES_MAX = 500
/** A table: that all bounds are in one place matters more than its length. */
const LONG_FILES = /^src\/limits\.ts$/
const LINE_CHARS_MAX = 100
const FUNCTION_LINES_MAX = 70

const files = readSourceFiles()
const code = files.filter(({ path }) => /\.(ts|mjs)$/.test(path))
/** These name what the rules forbid. */
const RULE_FILES = /^test\/(house-rules\.test|source-files|import-table\.test)\.ts$/

/** Paths and lines where `pattern` matches, judged on code alone when `inCode`. */
function find(where: readonly SourceFile[], pattern: RegExp, inCode: boolean): string[] {
  const found: string[] = []
  for (const { path, text } of where) {
    if (RULE_FILES.test(path)) continue
    for (const match of (inCode ? blankNonCode(text) : text).matchAll(pattern)) {
      const line = text.slice(0, match.index).split('\n').length
      // An exception that the linter was told of, with its reason.
      if (text.split('\n')[line - 2]?.includes('biome-ignore') === true) continue
      found.push(`${path}:${line} ${match[0].trim()}`)
    }
  }
  return found
}

const outside = (allowed: RegExp) => code.filter(({ path }) => !allowed.test(path))

const CODE_RULES = [
  ['no any', /(:\s*any\b|\bas any\b|<any>|\bany\[\])/g, code],
  ['no enum', /^\s*(export\s+)?(declare\s+)?(const\s+)?enum\s+\w/gm, code],
  ['no namespace', /^\s*(export\s+)?(declare\s+)?(namespace|module)\s+\w/gm, code],
  [
    'no parameter property',
    /\bconstructor\s*\(([^){]*,)?\s*(private|public|protected|readonly)\s/g,
    code,
  ],
  ['no empty catch', /\bcatch\s*(\([^)]*\))?\s*\{\s*\}/g, outside(/^scripts\//)],
  [
    'a kernel keeps nothing from call to call',
    /^(export\s+)?(let|var)\s.*/gm,
    code.filter(({ path }) => path.startsWith('kernels/')),
  ],
  ['no focused test', /\.only\(/g, code],
  [
    'only the entries end the process',
    /\bprocess\.exit\(/g,
    outside(/^(src\/main\.ts|src\/cli\/|src\/embedded\/.*-host\.ts|bench\/|scripts\/|test\/)/),
  ],
  [
    'only the entries, scripts, benches and tests print',
    /\bconsole\.\w+\(/g,
    outside(/^(src\/main\.ts|src\/cli\/|bench\/|scripts\/|test\/|load-tests\/)/),
  ],
] as const

for (const [name, pattern, where] of CODE_RULES) {
  test(name, () => assert.deepEqual(find(where, pattern, true), []))
}

const TEXT_RULES = [
  ['a TODO names its issue', /\bTODO\b(?! ?\(?#\d)/g],
  ['no FIXME', /\bFIXME\b/g],
  ['no path of some machine', /(?<![\w.~$}])\/(root|work)\//g],
  ['no registry host', /"resolved":|https?:\/\/(registry|npm|nexus|artifactory)\.[\w.-]+/g],
] as const

for (const [name, pattern] of TEXT_RULES) {
  test(name, () => assert.deepEqual(find(files, pattern, false), []))
}

test(`a file has at most ${FILE_LINES_MAX} lines, ${CLASS_LINES_MAX} as one class`, () => {
  const isOneClass = (text: string) =>
    [...blankNonCode(text).matchAll(/^(export )?class /gm)].length === 1
  const isLong = ({ text }: SourceFile) =>
    text.trimEnd().split('\n').length > (isOneClass(text) ? CLASS_LINES_MAX : FILE_LINES_MAX)
  const long = outside(LONG_FILES).filter(isLong)
  assert.deepEqual(
    long.map(({ path }) => path),
    [],
  )
})

test(`a line has at most ${LINE_CHARS_MAX} characters`, () => {
  const long = code.flatMap(({ path, text }) =>
    text
      .split('\n')
      .flatMap((line, index) => (line.length > LINE_CHARS_MAX ? [`${path}:${index + 1}`] : [])),
  )
  assert.deepEqual(long, [])
})

test(`a function has at most ${FUNCTION_LINES_MAX} lines`, () => {
  const long = code.flatMap(({ path, text }) =>
    functionsIn(text)
      .filter(({ lines }) => lines > FUNCTION_LINES_MAX)
      .map(({ line, lines }) => `${path}:${line} has ${lines}`),
  )
  assert.deepEqual(long, [])
})

test('names are kebab-case and say what is inside', () => {
  const bad = code
    .map(({ path }) => path)
    .filter((path) => {
      const name = basename(path).replace(/(\.(test|long|bench|fuzz|d))*\.(ts|mjs)$/, '')
      return (
        !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name) ||
        /^(index|utils?|helpers?|common|types|managers?)$/.test(name) ||
        path.split('/').some((part) => /[A-Z_]/.test(part))
      )
    })
  assert.deepEqual(bad, [])
})

interface FunctionSpan {
  /** Of its parameter list, from 1. */
  readonly line: number
  readonly lines: number
}

const CONTROL = /\b(if|for|while|switch|catch|with|await)$/

/**
 * Functions with a body: a brace after `=>`, or after `)` and maybe a return type, unless a
 * control keyword owns the parentheses. The callbacks of `describe` are containers, not functions.
 */
function functionsIn(text: string): FunctionSpan[] {
  const blank = blankNonCode(text)
  const lineOf = lineCounter(blank)
  const spans: FunctionSpan[] = []
  const parens: number[] = []
  const braces: (number | undefined)[] = []
  let lastParens: { open: number; close: number } | undefined
  for (let index = 0; index < blank.length; index++) {
    const char = blank[index]
    if (char === '(') parens.push(index)
    else if (char === ')') lastParens = { open: parens.pop() ?? 0, close: index }
    else if (char === '{') braces.push(functionStart(blank, index, lastParens))
    else if (char === '}') {
      const start = braces.pop()
      if (start === undefined) continue
      const line = lineOf(start)
      spans.push({ line, lines: lineOf(index) - line + 1 })
    }
  }
  return spans
}

/** Where the function starts whose body opens at `brace`; undefined when it is another block. */
function functionStart(
  blank: string,
  brace: number,
  parens: { open: number; close: number } | undefined,
): number | undefined {
  const lineStart = blank.lastIndexOf('\n', brace) + 1
  if (/^\s*(await )?describe(\.\w+)?\(/.test(blank.slice(lineStart, brace))) return undefined
  if (blank.slice(0, brace).trimEnd().endsWith('=>')) return parens?.open ?? brace
  if (parens === undefined) return undefined
  const between = blank.slice(parens.close + 1, brace)
  if (!/^\s*(:[^;={}]*)?\s*$/.test(between)) return undefined
  return CONTROL.test(blank.slice(0, parens.open).trimEnd()) ? undefined : parens.open
}

function lineCounter(text: string): (index: number) => number {
  const starts = [0]
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return (index) => starts.filter((start) => start <= index).length
}

describe('the scanner', () => {
  const lengths = (text: string) => functionsIn(text).map(({ lines }) => lines)

  test('finds functions, methods and arrows', () => {
    assert.deepEqual(lengths('function f(): void {\n}\n'), [2])
    assert.deepEqual(lengths('const f = (\n  a: A,\n) => {\n  a\n}\n'), [5])
    assert.deepEqual(lengths('class A {\n  m(a: B): Promise<C> {\n    a\n  }\n}'), [3])
  })

  test('takes no other block for a function', () => {
    assert.deepEqual(lengths('if (a) {\n} else if (b) {\n}\nfor (;;) {\n}\n'), [])
    assert.deepEqual(lengths('const a = {\n  b: f(c),\n}\ninterface D {\n  e: F\n}\n'), [])
    assert.deepEqual(lengths('switch (a) {\n}\ntry {\n} catch (e) {\n}\n'), [])
  })

  test('is not misled by braces in text', () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the code that is scanned.
    assert.deepEqual(lengths('function f() {\n  return `}${g({ a: "}" })}}`\n}\n'), [3])
    assert.deepEqual(lengths("function f() {\n  // }\n  return /[/}]}/.test('}')\n}\n"), [4])
    assert.deepEqual(lengths('function f() {\n  /* } */\n  return a / b / c\n}\n'), [4])
  })
})
