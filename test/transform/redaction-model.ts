/**
 * Redaction written down plainly, on values: what the transforms are compared with. Objects are
 * lists of members, so that duplicate keys and their order are kept.
 */
import {
  normalizePath,
  normalizePathSegment,
  normalizeSegment,
} from '../../src/model/redact-path.ts'
import { DENYLISTED_SEGMENTS } from '../../workers/transform/secret-words.ts'

export type Tree = null | boolean | number | string | readonly Tree[] | TreeObject

export interface TreeObject {
  readonly members: readonly (readonly [key: string, value: Tree])[]
}

export interface ModelRules {
  readonly redactFields: readonly string[]
  readonly isSecret: (value: string) => boolean
}

const RAW = /(^|\.)(_raw|_svc_raw)$/

export function isObject(tree: Tree): tree is TreeObject {
  return tree !== null && typeof tree === 'object' && !Array.isArray(tree)
}

export function redactTree(tree: TreeObject, rules: ModelRules): TreeObject {
  const fields = new Set(rules.redactFields.map(normalizePath))

  function whole(value: Tree): { value: Tree; count: number } {
    if (value === null) return { value, count: 0 }
    return { value: typeof value === 'string' ? '[REDACTED]' : null, count: 1 }
  }

  function visit(value: Tree, path: readonly string[]): { value: Tree; count: number } {
    if (typeof value === 'string' && rules.isSecret(value)) return { value: '[REDACTED]', count: 1 }
    if (Array.isArray(value)) {
      const elements = value.map((element) => visit(element, path))
      return { value: elements.map((e) => e.value), count: sum(elements) }
    }
    if (!isObject(value)) return { value, count: 0 }
    const members = value.members.map(([key, child]) => {
      const segments = key.split('.').map(normalizePathSegment)
      const prefixes = segments.map((_, i) => [...path, ...segments.slice(0, i + 1)].join('.'))
      const isWhole =
        key.split('.').some((segment) => DENYLISTED_SEGMENTS.has(normalizeSegment(segment))) ||
        prefixes.some((prefix) => fields.has(prefix))
      return { key, ...(isWhole ? whole(child) : visit(child, [...path, ...segments])) }
    })
    const count = sum(members)
    const cleared = members.map(({ key, value, count: own }): readonly [string, Tree] => [
      key,
      RAW.test(key) && (count > own || (own > 0 && typeof value !== 'string')) ? null : value,
    ])
    return { value: { members: cleared }, count }
  }

  return visit(tree, []).value as TreeObject
}

function sum(items: readonly { readonly count: number }[]): number {
  return items.reduce((total, { count }) => total + count, 0)
}

/** Spells a tree as JSON: `spell` writes a string's inside, `gap` is the white space of tokens. */
export function writeTree(tree: Tree, spell: (value: string) => string, gap = ''): string {
  if (typeof tree === 'string') return `"${spell(tree)}"`
  if (Array.isArray(tree)) {
    const elements = tree.map((element) => writeTree(element, spell, gap))
    return `[${gap}${elements.join(`${gap},${gap}`)}${gap}]`
  }
  if (!isObject(tree)) return JSON.stringify(tree)
  const members = tree.members.map(
    ([key, value]) => `"${spell(key)}"${gap}:${gap}${writeTree(value, spell, gap)}`,
  )
  return `{${gap}${members.join(`${gap},${gap}`)}${gap}}`
}

/** Reads JSON into a tree, duplicate keys and all. Takes valid JSON only. */
export function readTree(text: string): Tree {
  let pos = 0
  const space = () => {
    while (' \t\r\n'.includes(text[pos] ?? 'x')) pos++
  }
  const string = (): string => {
    const start = pos++
    while (text[pos] !== '"') pos += text[pos] === '\\' ? 2 : 1
    return JSON.parse(text.slice(start, ++pos))
  }
  const value = (): Tree => {
    space()
    const char = text[pos]
    if (char === '"') return string()
    if (char === '[') return list(']', value)
    if (char === '{') {
      const member = (): readonly [string, Tree] => {
        space()
        const key = string()
        space()
        pos++
        return [key, value()]
      }
      return { members: list('}', member) }
    }
    const start = pos
    while (pos < text.length && !',]} \t\r\n'.includes(text[pos]!)) pos++
    return JSON.parse(text.slice(start, pos))
  }
  const list = <T>(close: string, read: () => T): T[] => {
    const items: T[] = []
    pos++
    space()
    while (text[pos] !== close) {
      items.push(read())
      space()
      if (text[pos] === ',') pos++
      space()
    }
    pos++
    return items
  }
  return value()
}
