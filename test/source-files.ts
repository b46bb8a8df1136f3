/** The files of the checkout, for tests that judge the code itself. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface SourceFile {
  /** From the root of the checkout, with `/`. */
  readonly path: string
  readonly text: string
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const FOLDERS = [
  'src',
  'workers',
  'kernels',
  'console',
  'test',
  'bench',
  'scripts',
  'proto',
  'docs',
  'deploy',
  'load-tests',
  '.ci',
]
const EXTENSIONS = 'ts tsx css html mjs js json md proto sql sh yml yaml toml conf'
const TEXT = new RegExp(`\\.(${EXTENSIONS.replaceAll(' ', '|')})$|(^|/)(run|LICENSE|Dockerfile)$`)

/** Text files of the checkout: those in the folders above and those at its root. */
export function readSourceFiles(): SourceFile[] {
  const paths = [...listFiles('', false), ...FOLDERS.flatMap((folder) => listFiles(folder, true))]
  return paths
    .filter((path) => TEXT.test(path))
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }))
}

function listFiles(folder: string, recursive: boolean): string[] {
  try {
    return readdirSync(join(ROOT, folder), { withFileTypes: true, recursive })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length))
  } catch {
    return [] // Not every folder exists from the first commit on.
  }
}

/**
 * TypeScript with the contents of comments, strings, templates and regular expressions blanked
 * out; every line and column stays where it was.
 */
export function blankNonCode(text: string): string {
  let out = ''
  let index = 0
  const templateDepths: number[] = []
  let depth = 0
  const copy = (count: number) => {
    out += text.slice(index, index + count)
    index += count
  }
  const blankTo = (end: number) => {
    out += text.slice(index, end).replace(/[^\n]/g, ' ')
    index = end
  }
  const template = () => {
    const end = templateEnd(text, index)
    blankTo(end)
    if (text[end] === '`') copy(1)
    else {
      templateDepths.push(depth)
      copy(2)
    }
  }
  while (index < text.length) {
    const char = text[index] ?? ''
    if (text.startsWith('//', index)) blankTo(indexOrEnd(text, '\n', index))
    else if (text.startsWith('/*', index)) blankTo(indexOrEnd(text, '*/', index) + 2)
    else if (char === "'" || char === '"') blankTo(quotedEnd(text, index, char))
    else if (char === '/' && startsRegExp(out)) blankTo(regExpEnd(text, index))
    else if (char === '`') {
      copy(1)
      template()
    } else if (char === '}' && templateDepths.at(-1) === depth) {
      templateDepths.pop()
      copy(1)
      template()
    } else {
      if (char === '{') depth++
      if (char === '}') depth--
      copy(1)
    }
  }
  return out
}

function indexOrEnd(text: string, what: string, from: number): number {
  const index = text.indexOf(what, from)
  return index < 0 ? text.length : index
}

function quotedEnd(text: string, start: number, quote: string): number {
  let index = start + 1
  while (index < text.length && text[index] !== quote) index += text[index] === '\\' ? 2 : 1
  return index + 1
}

/** Where a template's text ends: at its closing backquote or at `${`. */
function templateEnd(text: string, start: number): number {
  let index = start
  while (index < text.length && text[index] !== '`' && !text.startsWith('${', index)) {
    index += text[index] === '\\' ? 2 : 1
  }
  return index
}

/** A slash after a value divides; after an operator, a bracket or a keyword it opens a pattern. */
function startsRegExp(before: string): boolean {
  const tail = before.slice(-40).trimEnd()
  return tail === '' || /[=(,:;!&|?{}[+~<>]$|\b(return|case|typeof|in|of)$/.test(tail)
}

function regExpEnd(text: string, start: number): number {
  let index = start + 1
  let inClass = false
  while (index < text.length && (inClass || text[index] !== '/') && text[index] !== '\n') {
    if (text[index] === '[') inClass = true
    if (text[index] === ']') inClass = false
    index += text[index] === '\\' ? 2 : 1
  }
  return index + 1
}
